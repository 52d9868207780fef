#pragma once
// The replicated state: every voter that applied the same entries has the same. Pure and
// deterministic: apply() is a function of state, index and entry, nothing else. Owned by Scheduler;
// also the read model of the CLI.
//
// State hands each entry to the rule that hears it, and answers questions. Its books (books.h) hold
// the facts, with their invariants. The rules of this room say what follows from an entry, and own
// nothing.
//
// Invariants: at most one member holds a (GPU uuid, slot), and no member one that overlaps it (slot
// 0 is the whole device); a member holds its slots exactly while it is not over; a job has at most
// one attempt that can still complete.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gossip/base/result.h"
#include "gossip/base/signing.h"
#include "scheduler/protocol/entry.h"
#include "scheduler/state/adoption.h"
#include "scheduler/state/books.h"
#include "scheduler/state/eligibility_rules.h"
#include "scheduler/state/queue_rules.h"
#include "scheduler/state/snapshot.h"
#include "scheduler/state/step.h"
#include "scheduler/state/submission.h"

namespace muster::scheduler {

inline constexpr Duration kTickMax = std::chrono::hours(1);  ///< One Tick adds at most this.

class State {
 public:
  explicit State(std::uint64_t epoch = 1, const KeptBytesMax& kept_max = {}) {
    books_.epochs = Epochs(epoch);
    books_.sizes = StateSizes(kept_max);
  }

  /// Applies the entry at `index`, which must be above applied(). `unix_ms`: as it was logged.
  /// `verifier` verifies the signatures of persons; all voters come to the same answer by theirs.
  /// Null: no signature counts. `voters`: the hosts that vote at that place of the log; root of one
  /// may reset the administrators.
  /// Moves the parts that it keeps out of the entry (the spec of a Submit, the members of a
  /// Decide).
  ApplyResult apply(LogIndex index, Entry&& entry, std::int64_t unix_ms = 0,
                    const gossip::Verifier* verifier = nullptr,
                    const std::vector<HostId>& voters = {});
  ApplyResult apply(LogIndex index, const Entry& entry, std::int64_t unix_ms = 0,
                    const gossip::Verifier* verifier = nullptr,
                    const std::vector<HostId>& voters = {}) {
    return apply(index, Entry(entry), unix_ms, verifier, voters);
  }
  /// Passes an entry at `index` that is not of the scheduler: an empty one of a new leader, or a
  /// configuration.
  void skip(LogIndex index);

  /// Another quorum goes on from here under a higher counter. Beyond `committed` (<= applied()) the
  /// log of the last quorum may have held other entries than this one. They are lost, and agents
  /// may have carried them out. Every host has to register again. Attempts that may or may not have
  /// started are aborted here, and adopted if they did start.
  void begin_epoch(std::uint64_t counter, LogIndex committed) {
    scheduler::begin_epoch(books_, counter, committed);
  }
  std::uint64_t epoch() const { return books_.epochs.counter(); }
  LogIndex applied() const { return books_.applied; }
  Duration cluster_time() const { return books_.cluster_time; }

  const std::map<JobId, Job>& jobs() const { return books_.jobs.all(); }
  const std::map<HostId, HostRecord>& hosts() const { return books_.hosts.all(); }
  /// By token: live attempts, and attempts that their jobs still list.
  const std::map<Token, Attempt>& attempts() const { return books_.attempts.all(); }
  /// O(GPUs).
  GpuHolders gpu_holders() const { return books_.gpus.holders(); }
  const GpuBook& gpus() const { return books_.gpus; }
  /// Number of jobs that wait for an attempt (Job::is_pending), without pausing ones.
  std::size_t pending() const { return books_.jobs.pending(); }
  /// Attempts that are not ENDED.
  const std::set<Token>& live() const { return books_.attempts.live(); }

  const Job* job(JobId id) const { return books_.jobs.find(id); }
  /// Arrays that have not ended, and the last that did. Tasks that are jobs are in jobs().
  const ArrayBook::Arrays& arrays() const { return books_.arrays.all(); }
  const TaskArray* array(JobId id) const { return books_.arrays.find(id); }
  const HostLists& host_lists() const { return books_.hosts.lists(); }
  const HostRecord* host(const HostId& id) const { return books_.hosts.find(id); }
  /// As HostBook::bearer().
  const HostRecord* bearer(const std::string& name, const HostId& except) const {
    return books_.hosts.bearer(name, except);
  }
  const Attempt* attempt(const Token& token) const { return books_.attempts.find(token); }
  /// The job that a client key was answered with; nullopt if the key is not remembered.
  std::optional<JobId> job_of_key(const std::string& key) const { return books_.keys.find(key); }
  /// Tokens of the live attempts whose share on `host` is not over.
  std::vector<Token> tokens_on(const HostId& host) const { return books_.gpus.on(host).tokens; }
  HeldAmounts held_on(const HostId& host) const { return books_.gpus.on(host).amounts; }
  /// GPUs of `host` that a new attempt may get now, in the agent's order.
  std::vector<std::string> free_gpus(const HostRecord& host) const {
    return books_.gpus.free_on(host);
  }
  /// Whether the share of `token` on `host` is over in the log: no agent may keep it alive. False
  /// for tokens unknown to this state: above applied(), or beyond the sure part of an earlier
  /// epoch.
  bool is_over(const Token& token, const HostId& host) const;
  /// Whether the log of an earlier epoch may have started this attempt, unknown to this state.
  bool may_be_adopted(const Token& token) const { return scheduler::may_be_adopted(books_, token); }
  using Adoption = scheduler::Adoption;
  /// Precondition: may_be_adopted(token).
  Adoption adoption(const entry::Adopt& fact) const { return scheduler::adoption(books_, fact); }
  /// Why the log would reject that registration; "" = it would not.
  std::string why_not(const entry::Register& fact) const { return books_.hosts.why_not(fact); }
  /// Whether the queue waits after a recovery, for at most kAdoptionWindow, for live hosts that
  /// have not reported yet what they run.
  bool awaits_hosts() const { return is_recovering() && !host_lists().awaited().empty(); }
  /// Whether something waits for cluster time: a time limit, a deadline, a host left out, a pause,
  /// a failure to be classed, the begin or deadline of a job. Client keys may live longer in a
  /// cluster that does nothing.
  bool needs_time() const {
    return pending() != 0 || books_.jobs.has_pauses() || books_.eligibility.needs_time() ||
           !live().empty() || !books_.attempts.unclassed().empty() || is_recovering();
  }
  /// Whether an open ticket or an access token waits for cluster time, though not to the second.
  bool has_open_ticket() const {
    return books_.roll.has_open_ticket(books_.cluster_time) ||
           !books_.directory.tokens().all().empty();
  }
  const EdgeCounts& edges() const { return books_.attempts.edges(); }
  const JobStepCounts& job_steps() const { return books_.jobs.steps(); }
  /// The highest level_needed() of the entries applied here. Not part of the replicated state.
  std::uint64_t level_met() const { return level_met_; }
  /// A hash of the effects of the last entry: the same wherever it was applied to the same state.
  /// It covers the touched attempts and their jobs, by enums and counts alone: texts for people may
  /// differ from one version to the next. Not part of the replicated state.
  std::uint64_t last_outcome() const { return last_outcome_; }
  /// Why the log takes no job like this now, for people; "" = it does.
  std::string why_not(const entry::Submit& fact) const { return scheduler::why_not(books_, fact); }
  /// As settle_queue().
  Status settle(JobSpec& spec) const { return settle_queue(books_, spec); }
  /// As scheduler::wait_of(), of a job that is submitted now.
  Result<JobWait> wait_of(const Eligibility& asked, std::int64_t unix_ms) const {
    return scheduler::wait_of(books_, asked, unix_ms);
  }
  /// The conditions of jobs and arrays.
  const EligibilityBook& conditions() const { return books_.eligibility; }
  /// As scheduler::never_of().
  std::string never_of(const JobWait& wait) const { return scheduler::never_of(books_, wait); }
  /// How the job, task or array stands: "running", "waits for its turn", "unknown".
  std::string standing(JobId id) const { return standing_text(books_, id); }
  const RollBook& roll() const { return books_.roll; }
  /// The users, teams and rules of access.
  const Directory& directory() const { return books_.directory; }
  const KeptBytes& kept() const { return books_.sizes.bytes(); }
  /// GPU time of users by day, of GPUs that were given back; the reader adds GPUs that are held.
  const UsageBook& usage() const { return books_.usage; }
  /// The newest changes and refusals of persons, a line each.
  const AuditBook& audit() const { return books_.audit; }
  /// The tree of queues, and what they hold.
  const QueueBook& queues() const { return books_.queues; }
  const ShareBook& shares() const { return books_.shares; }
  const GuaranteeBook& guarantees() const { return books_.guarantees; }
  const PreemptionBook& preemptions() const { return books_.preemptions; }
  /// Jobs that wait in the queue and below it, as WaitingBook counts them.
  std::uint64_t waiting_in(std::string_view path) const { return books_.waiting.in(path); }
  /// The usual requests, as placement sees them.
  const Usual& usual() const { return books_.popularity.usual(); }

  /// The whole state as a snapshot: length-prefixed documents, each within the wire's limits.
  std::string encode() const { return encoded(books_); }
  /// kCorrupt names the first document that does not fit.
  static Result<State> decode(std::string_view bytes, const KeptBytesMax& kept_max = {});
  /// XXH3-64 over encode(): voters compare it.
  std::uint64_t digest() const { return digest_of(books_); }

  /// Cheap CHECKs, for every step.
  void check_invariants() const { scheduler::check_invariants(books_); }
  /// Everything, in O(state): tests and the simulator's end of run.
  void check_everything() const { scheduler::check_everything(books_); }

 private:
  explicit State(Books books) : books_(std::move(books)) {}

  bool is_recovering() const { return books_.epochs.is_recovering(books_.cluster_time); }

  Books books_;
  std::uint64_t level_met_ = 0;
  std::uint64_t last_outcome_ = 0;
};

}  // namespace muster::scheduler
