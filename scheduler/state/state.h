#pragma once
// The replicated state: what every voter knows after applying the same entries. Pure and
// deterministic: apply() is a function of state, index and entry, nothing else. Owned by Scheduler;
// also the read model of the CLI.
//
// State hands each entry to the rule that hears it and answers questions. What is known stands in
// its books (books.h), with their invariants; what follows from an entry is said by the rules of
// this room, which own nothing.
//
// Invariants: a (GPU uuid, slot) is held by at most one member, and by none that overlaps it (slot
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
#include "scheduler/protocol/entry.h"
#include "scheduler/state/adoption.h"
#include "scheduler/state/books.h"
#include "scheduler/state/snapshot.h"
#include "scheduler/state/step.h"
#include "scheduler/state/submission.h"

namespace muster::scheduler {

inline constexpr Duration kTickMax = std::chrono::hours(1);  ///< One Tick adds at most this.

class State {
 public:
  explicit State(std::uint64_t epoch = 1, const KeptBytesMax& kept_max = {}) {
    books_.epochs = Epochs(epoch);
    books_.kept = Kept(kept_max);
  }

  /// Applies the entry at `index`, which must be above applied(). `unix_ms`: as it was logged. What
  /// is kept of it (the spec of a Submit, the members of a Decide) is taken out of it.
  ApplyResult apply(LogIndex index, Entry&& entry, std::int64_t unix_ms = 0);
  ApplyResult apply(LogIndex index, const Entry& entry, std::int64_t unix_ms = 0) {
    return apply(index, Entry(entry), unix_ms);
  }
  /// The log's entry at `index` is not ours (an empty one of a new leader, a membership change).
  void skip(LogIndex index);

  /// Another quorum goes on from here under a higher counter: what the log of the last one held
  /// beyond `committed` (<= applied()) was perhaps something else than what was applied here, is
  /// lost, and may have been carried out. Every host has to register anew; attempts of which it is
  /// not known whether they were started are aborted here, and adopted if they were.
  void begin_epoch(std::uint64_t counter, LogIndex committed) {
    scheduler::begin_epoch(books_, counter, committed);
  }
  std::uint64_t epoch() const { return books_.epochs.counter(); }
  LogIndex applied() const { return books_.applied; }
  Duration cluster_time() const { return books_.cluster_time; }

  const std::map<JobId, Job>& jobs() const { return books_.jobs.all(); }
  const std::map<HostId, HostRecord>& hosts() const { return books_.hosts.all(); }
  /// Live attempts, and those that their jobs still list, by token.
  const std::map<Token, Attempt>& attempts() const { return books_.attempts.all(); }
  /// All of them, in O(GPUs).
  GpuHolders gpu_holders() const { return books_.gpus.holders(); }
  const GpuBook& gpus() const { return books_.gpus; }
  /// How many jobs wait for an attempt (Job::is_pending), without those that pause after a failure.
  std::size_t pending() const { return books_.jobs.pending(); }
  /// Attempts that are not ENDED.
  const std::set<Token>& live() const { return books_.attempts.live(); }

  const Job* job(JobId id) const { return books_.jobs.find(id); }
  /// Those that have not ended, and the last that did; their tasks, as far as they are jobs, are
  /// among jobs().
  const ArrayBook::Arrays& arrays() const { return books_.arrays.all(); }
  const TaskArray* array(JobId id) const { return books_.arrays.find(id); }
  const HostLists& host_lists() const { return books_.hosts.lists(); }
  const HostRecord* host(const HostId& id) const { return books_.hosts.find(id); }
  /// As HostBook::bearer().
  const HostRecord* bearer(const std::string& name, const HostId& except) const {
    return books_.hosts.bearer(name, except);
  }
  const Attempt* attempt(const Token& token) const { return books_.attempts.find(token); }
  /// The job a client key was answered with, if it is still remembered.
  std::optional<JobId> job_of_key(const std::string& key) const { return books_.keys.find(key); }
  /// Tokens of the live attempts whose share on `host` is not over.
  std::vector<Token> tokens_on(const HostId& host) const { return books_.gpus.on(host).tokens; }
  HeldAmounts held_on(const HostId& host) const { return books_.gpus.on(host).amounts; }
  /// GPUs of `host` that a new attempt may get now, in the agent's order.
  std::vector<std::string> free_gpus(const HostRecord& host) const {
    return books_.gpus.free_on(host);
  }
  /// No agent may hold `token` alive on `host`: its share there is over in the log. False for
  /// tokens above applied() or of another epoch, of which this state knows nothing.
  bool is_over(const Token& token, const HostId& host) const;
  /// The log of an earlier epoch may have started this attempt, and this state does not know.
  bool may_be_adopted(const Token& token) const { return scheduler::may_be_adopted(books_, token); }
  using Adoption = scheduler::Adoption;
  /// Precondition: may_be_adopted(token).
  Adoption adoption(const entry::Adopt& fact) const { return scheduler::adoption(books_, fact); }
  /// Why the log would reject that registration; "" = it would not.
  std::string why_not(const entry::Register& fact) const { return books_.hosts.why_not(fact); }
  /// After a recovery: the queue waits, for at most kAdoptionWindow, for hosts that live and have
  /// not said yet what they run.
  bool awaits_hosts() const { return is_recovering() && !host_lists().awaited().empty(); }
  /// Something waits for cluster time: a time limit, a deadline, a host left out, a pause, a
  /// failure to be classed. Client keys may well live longer in a cluster that does nothing.
  bool needs_time() const {
    return pending() != 0 || books_.jobs.has_pauses() || !live().empty() ||
           !books_.attempts.unclassed().empty() || is_recovering();
  }
  /// So do tickets, though not to the second.
  bool has_open_ticket() const { return books_.roll.has_open_ticket(books_.cluster_time); }
  const EdgeCounts& edges() const { return books_.attempts.edges(); }
  const JobStepCounts& job_steps() const { return books_.jobs.steps(); }
  /// The highest level_needed() of what was applied here. Not part of the replicated state.
  std::uint64_t level_met() const { return level_met_; }
  /// What the last entry did, in one number: the same wherever it was applied to the same state.
  /// It is about the attempts and the job that were touched, in words of enums and counts alone:
  /// texts for people may differ from one version to the next. Not part of the replicated state.
  std::uint64_t last_outcome() const { return last_outcome_; }
  /// Why the log takes no job like this now, for people; "" = it does.
  std::string why_not(const entry::Submit& fact) const { return scheduler::why_not(books_, fact); }
  const RollBook& roll() const { return books_.roll; }
  const KeptBytes& kept() const { return books_.kept.bytes(); }
  /// What users used by day: GPUs that were given back; those that are held come in addition.
  const UsageBook& usage() const { return books_.usage; }
  /// What is usually asked for, as placement is to see it.
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
