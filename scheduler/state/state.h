#pragma once
// The replicated state: what every voter knows after applying the same entries (design 8). Pure and
// deterministic: apply() is a function of state, index and entry, nothing else. Owned by Scheduler;
// also the read model of the CLI.
//
// Invariants: a (GPU uuid, slot) has at most one grant, and none that overlaps it (slot 0 is the
// whole device); a grant exists exactly while its attempt's member is not over; a job has at most
// one attempt that can still complete.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gossip/base/result.h"
#include "scheduler/protocol/codec.h"
#include "scheduler/protocol/entry.h"
#include "scheduler/state/books.h"
#include "scheduler/state/step.h"

namespace muster::scheduler {

inline constexpr std::size_t kLeftOutMax = 64;
/// More, each on a host of its own, would not fit into one entry (kEntryBytesMax).
inline constexpr std::uint32_t kGangGpusMax = 4096;
/// A job that loses its hosts this often is failed: something about it kills them.
inline constexpr std::uint32_t kLostAttemptsMax = 100;
/// How long the failure of a rank waits to be classed (conventions, "Job states"): the verdict
/// about a dead host takes 3.5 s at the worst (design 5), and 2 s more to be logged. Counted in
/// Ticks, so it may be shorter or longer by one. Shorter charges a lost host to the user's retries;
/// longer delays the word that a program failed.
inline constexpr Duration kClassWait = std::chrono::milliseconds(5500);
inline constexpr Duration kLeftOutFor = std::chrono::seconds(60);
inline constexpr Duration kTickMax = std::chrono::hours(1);  ///< One Tick adds at most this.

inline constexpr std::int32_t kExitTimeLimit = 124;
inline constexpr std::int32_t kExitSignalBase = 128;
inline constexpr std::int32_t kExitCancelled = kExitSignalBase + 15;
inline constexpr std::size_t kTextsMax =
    4096;  ///< Words of a command, variables of its environment.
inline constexpr std::size_t kTextBytesMax = 256;        ///< Of names, users and types.
inline constexpr std::size_t kDirectoryBytesMax = 4096;  ///< Of paths.

/// Checks what can be checked without a cluster; kInvalid names the first wrong field.
Status validate(const JobSpec& spec);

class State {
 public:
  explicit State(std::uint64_t epoch = 1, const KeptBytesMax& kept_max = {}) {
    books_.epochs = Epochs(epoch);
    books_.kept = Kept(kept_max);
  }

  /// Applies the entry at `index`, which must be above applied().
  ApplyResult apply(LogIndex index, const Entry& entry);
  /// The log's entry at `index` is not ours (an empty one of a new leader, a membership change).
  void skip(LogIndex index);

  /// Another quorum goes on from here under a higher counter: what the log of the last one held
  /// beyond `committed` (<= applied()) was perhaps something else than what was applied here, is
  /// lost, and may have been carried out. Every host has to register anew; attempts of which it is
  /// not known whether they were started are aborted here, and adopted if they were.
  void begin_epoch(std::uint64_t counter, LogIndex committed);
  std::uint64_t epoch() const { return books_.epochs.counter(); }
  LogIndex applied() const { return books_.applied; }
  Duration cluster_time() const { return books_.cluster_time; }

  const std::map<JobId, Job>& jobs() const { return books_.jobs.all(); }
  const std::map<HostId, HostRecord>& hosts() const { return books_.hosts.all(); }
  /// Live attempts, and those that their jobs still list, by token.
  const std::map<Token, Attempt>& attempts() const { return books_.attempts.all(); }
  /// uuid -> slot -> grant.
  const Grants& grants() const { return books_.gpus.grants(); }
  /// Jobs waiting for an attempt, best first.
  const Queue& queue() const { return books_.jobs.queue(); }
  /// Attempts that are not ENDED.
  const std::set<Token>& live() const { return books_.attempts.live(); }

  const Job* job(JobId id) const;
  const HostRecord* host(const HostId& id) const;
  const Attempt* attempt(const Token& token) const;
  /// The job a client key was answered with, if it is still remembered.
  std::optional<JobId> job_of_key(const std::string& key) const;
  /// Tokens of the live attempts whose share on `host` is not over.
  std::vector<Token> tokens_on(const HostId& host) const;
  /// GPUs of `host` that a new attempt may get now, in the agent's order.
  std::vector<std::string> free_gpus(const HostRecord& host) const;
  /// No agent may hold `token` alive on `host`: its share there is over in the log. False for
  /// tokens above applied() or of another epoch, of which this state knows nothing.
  bool is_over(const Token& token, const HostId& host) const;
  /// The log of an earlier epoch may have started this attempt, and this state does not know.
  bool may_be_adopted(const Token& token) const;
  enum class Adoption : std::uint8_t {
    kNow,    ///< An Adopt of it would count.
    kLater,  ///< Some host has to say first what it runs, or an older attempt to end.
    kNever,  ///< Its job went on without it, or it is none: it must end.
  };
  /// Precondition: may_be_adopted(token).
  Adoption adoption(const entry::Adopt& fact) const;
  /// Why the log would reject that registration; "" = it would not.
  std::string why_not(const entry::Register& fact) const;
  /// After a recovery: the queue waits, for at most kAdoptionWindow, for hosts that live and have
  /// not said yet what they run.
  bool awaits_hosts() const;
  /// The largest gang of this type ("" = the best single type) that all registered hosts together
  /// could ever run, healthy or not. Nothing before the first registration. `is_kept`: under
  /// isolation `keep`, which hosts without PID namespaces ask for.
  std::optional<std::uint32_t> largest_possible(const std::string& gpu_type,
                                                bool is_kept = true) const;
  /// Something waits for cluster time: a time limit, a deadline, a host left out, a failure to be
  /// classed. Client keys may well live longer in a cluster that does nothing.
  bool needs_time() const {
    return !queue().empty() || !live().empty() || !books_.attempts.unclassed().empty() ||
           is_recovering();
  }
  const EdgeCounts& edges() const { return books_.attempts.edges(); }
  const JobStepCounts& job_steps() const { return books_.jobs.steps(); }
  /// The highest level_needed() of what was applied here. Not part of the replicated state.
  std::uint64_t level_met() const { return level_met_; }
  /// What the last entry did, in one number: the same wherever it was applied to the same state.
  /// It is about the attempts and the job that were touched, in words of enums and counts alone:
  /// texts for people may differ from one version to the next. Not part of the replicated state.
  std::uint64_t last_outcome() const { return last_outcome_; }
  /// Why the log takes no job like this now, for people; "" = it does.
  std::string why_not(const entry::Submit& fact) const;
  const KeptBytes& kept() const { return books_.kept.bytes(); }

  /// The whole state as a snapshot: length-prefixed documents, each within the wire's limits.
  std::string encode() const;
  /// kCorrupt names the first document that does not fit.
  static Result<State> decode(std::string_view bytes, const KeptBytesMax& kept_max = {});
  /// XXH3-64 over encode(): voters compare it.
  std::uint64_t digest() const;

  /// Cheap CHECKs, for every step.
  void check_invariants() const;
  /// Everything, in O(state): tests and the simulator's end of run.
  void check_everything() const;

 private:
  void on(Step& step, const entry::Register& fact);
  void on(Step& step, const entry::Submit& fact);
  void on(Step& step, const entry::Cancel& fact);
  void on(Step& step, const entry::Observe& fact);
  void on(Step& step, const entry::Tick& fact);
  void on(Step& step, const entry::Decide& fact);
  void on(Step& step, const entry::Ready& fact);
  void on(Step& step, const entry::Start& fact);
  void on(Step& step, const entry::Stop& fact);
  void on(Step& step, const entry::Finish& fact);
  void on(Step& step, const entry::Abort& fact);
  void on(Step& step, const entry::Condemn& fact);
  void on(Step& step, const entry::Pardon& fact);
  void on(Step& step, const entry::Expire& fact);
  void on(Step& step, const entry::Suspend& fact);
  void on(Step& step, const entry::Resume& fact);
  void on(Step& step, const entry::Requeue& fact);
  void on(Step& step, const entry::Fence& fact);

  // state_recovery.cc: what a quorum does not know that follows a lost one.
  void on(Step& step, const entry::Adopt& fact);
  bool is_recovering() const { return books_.epochs.is_recovering(books_.cluster_time); }
  bool is_whole(const entry::Adopt& fact) const;
  const Job* job_of(const GrantDetail& detail) const;
  Adoption adoption_by_job(const entry::Adopt& fact) const;
  Attempt adopted(const entry::Adopt& fact) const;

  // state_orders.cc: an operator's word.
  void hear(Step& step, JobId id, JobEvent word, const std::string& by);
  void keep_order(Step& step, Job& job, JobEvent word, const std::string& by);
  void obey(Step& step, Job& job, JobEvent word, const std::string& by);

  std::string why_not(const entry::Decide& fact) const;
  std::string why_not_member(const entry::Decide& fact, std::size_t position) const;
  void bind(Step& step, Job& owner, Attempt attempt);
  void end_earlier_grants(Step& step, const entry::Register& fact, bool rebooted);
  Outcome feed(Step& step, const Token& token, const Fact& fact);
  void follow(Step& step, Attempt& attempt, const Outcome& outcome);
  void free_member(const Attempt& attempt, const HostId& host);
  void leave_out(Job& job, const HostId& host) const;
  void settle(Step& step, Attempt& attempt);
  bool is_replaceable(const Attempt& attempt) const;
  bool lost_a_host(const Attempt& attempt) const;
  void settle_host(Step& step, const HostId& host);
  void settle_unclassed(Step& step);
  void watch_failure(Attempt& attempt) const;
  bool awaits_verdict(const Attempt& attempt) const;
  void conclude(Step& step, Job& job, const Attempt& attempt);
  bool conclude_as_ordered(Step& step, Job& job, const Attempt& attempt);
  void fail_or_retry(Step& step, Job& job, const Attempt& attempt);
  void requeue(Step& step, Job& job, const Attempt& attempt, std::string cause);
  void end_job(Step& step, Job& job, JobEvent how, std::int32_t code, std::string reason);
  void move(Step& step, Job& job, JobEvent event, std::string cause, const Token& token);

  std::uint64_t outcome_of(const ApplyResult& result) const;

  Books books_;
  std::uint64_t level_met_ = 0;
  std::uint64_t last_outcome_ = 0;
};

}  // namespace muster::scheduler
