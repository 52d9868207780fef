#pragma once
// The records that the log keeps of a job and of a host, without attempts (reservations.h).

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/protocol/entry.h"
#include "scheduler/protocol/gpu_orders.h"
#include "scheduler/protocol/host_number.h"
#include "scheduler/protocol/host_traits.h"
#include "scheduler/protocol/job.h"
#include "scheduler/state/job_life.h"

namespace muster::scheduler {

/// One step of a job's history, for people.
struct Transition {
  JobState to = JobState::kQueued;
  std::string cause;
  Duration at{0};  ///< Cluster time.
  LogIndex index;
  Token token;               ///< The attempt it is about; Token() for the job itself.
  std::int64_t unix_ms = 0;  ///< The leader's wall clock, for people; 0 = not known.
  bool operator==(const Transition&) const = default;
};

/// A host that refused an attempt of this job, or was not ready in time. The job leaves it out
/// until `until` (cluster time) or its next registration. For good would starve jobs whose only
/// hosts were busy cleaning up once.
struct LeftOut {
  HostId host;
  Duration until{0};
  bool operator==(const LeftOut&) const = default;
};

/// The counted failures of a job's program.
struct Failures {
  std::uint32_t count = 0;  ///< Counted against JobSpec::retries.
  /// Cluster time of the next try, while the job is queued and pauses after one; 0 = it may be
  /// tried now.
  Duration retry_at{0};
  bool operator==(const Failures&) const = default;
};

/// The conditions under which a job, or an array as a whole, begins; of a Submit's Eligibility.
struct JobWait {
  struct Item {
    Dependency asked;
    bool is_met = false;
    bool operator==(const Item&) const = default;
  };

  std::vector<Item> after{};  ///< As submitted; all of them have to be met.
  /// Cluster time before which it is not tried, though a time without a leader makes that later;
  /// 0 = it has come, or the job has no begin.
  Duration begin_at{0};
  /// Cluster time at which it fails, unless it has started; 0 = it has, or may at any time.
  Duration deadline_at{0};
  Duration over_at{0};  ///< Cluster time at which it ceased to wait; 0 = it never waited.
  // The same on the leader's wall clock, for people; 0 = there is no such time, or not known. They
  // stay when the time has come.
  std::int64_t begin_unix_ms = 0;
  std::int64_t deadline_unix_ms = 0;
  /// Why an array ended before it began; "" = it did not.
  std::string ended_by{};
  bool operator==(const JobWait&) const = default;

  bool is_none() const { return *this == JobWait(); }
  bool is_open(const Item& item) const { return !item.is_met && ended_by.empty(); }
  /// Whether it must not be tried yet.
  bool is_open() const {
    return begin_at != Duration::zero() ||
           std::any_of(after.begin(), after.end(), [this](const Item& i) { return is_open(i); });
  }
};

/// The progress of a job.
struct JobLife {
  JobState state = JobState::kQueued;
  std::uint32_t attempts = 0;       ///< Decided so far; the newest has this number.
  Failures failures{};              ///< Of its program.
  std::uint32_t lost_attempts = 0;  ///< By lost hosts; bounded by kLostAttemptsMax.
  std::uint32_t evictions = 0;      ///< Attempts that gave way to other jobs.
  std::int32_t exit_code = 0;       ///< Of an ended job: what `submit --wait` exits with.
  std::string reason;               ///< One line: why it ended, or why it is queued again.
  LogIndex ended_index;
  Token current;                      ///< The newest attempt until it is settled; else Token().
  std::vector<Token> attempt_tokens;  ///< The newest, at most kAttemptsKept, oldest first.
  std::vector<LeftOut> left_out;
  bool is_relaxed = false;  ///< Request::pack_wait is over: its pack is only preferred.
  JobWait wait{};           ///< Before its first attempt. Changed by JobBook::set_wait() alone.
  bool operator==(const JobLife&) const = default;
};

/// The orders of people since the submit.
struct JobOrders {
  bool cancel_requested = false;
  /// Beside a cancel: kNone, kSuspend or kRequeue. kNone while the job has no attempt.
  JobOrder order = JobOrder::kNone;
  std::string ordered_by;     ///< The person that gave the order in force, cancel included; or "".
  std::int32_t priority = 0;  ///< As submitted, or as an operator edited it since.
  bool operator==(const JobOrders&) const = default;
};

/// Times of a job's steps, and its GPU time.
struct JobHistory {
  Duration submitted_at{0};  ///< Cluster time.
  Duration ended_at{0};
  // The leader's wall clock, for people; 0 = not yet, or not known.
  std::int64_t submitted_unix_ms = 0;
  std::int64_t started_unix_ms = 0;  ///< Of the last attempt that was started.
  std::int64_t ended_unix_ms = 0;
  std::uint64_t gpu_ms = 0;  ///< GPU time, in cluster time, of GPUs that were given back.
  std::vector<Transition> transitions;  ///< The newest, at most kTransitionsKept.
  bool operator==(const JobHistory&) const = default;
};

struct Job {
  JobId id;
  JobSpec spec;
  std::string key;
  std::string submitted_by;
  JobLife life;
  JobOrders orders;
  JobHistory history;
  bool operator==(const Job&) const = default;

  void forget_order() {
    orders.order = JobOrder::kNone;
    orders.ordered_by.clear();
  }
  JobOrder order_in_force() const {
    return orders.cancel_requested ? JobOrder::kCancel : orders.order;
  }
  /// Whether the job is queued and must not be tried yet.
  bool pauses() const { return life.failures.retry_at != Duration::zero(); }
  /// Whether the job is queued, and waits for other jobs or for its begin.
  bool is_waiting() const { return life.state == JobState::kQueued && life.wait.is_open(); }
  /// Whether the job may be tried now: it is queued, does not pause, and waits for no other job and
  /// no time.
  bool is_pending() const {
    return life.state == JobState::kQueued && !pauses() && !life.wait.is_open();
  }
  bool has_ended() const {
    return life.state == JobState::kCompleted || life.state == JobState::kFailed ||
           life.state == JobState::kCancelled;
  }
};

/// An operator takes a host out of service: the leader places nothing new there.
struct HostDrain {
  std::string by;
  std::string why;
  Duration since{0};         ///< Cluster time.
  std::int64_t unix_ms = 0;  ///< The leader's wall clock then.
  bool requeues = false;     ///< Jobs left there at `requeue_at` are queued again.
  Duration requeue_at{0};    ///< Cluster time.
  bool operator==(const HostDrain&) const = default;
};

/// Masks in force of one host; the log refuses more.
inline constexpr std::size_t kGpuMasksMax = 128;
inline constexpr std::size_t kGpuUnmasksKept = 64;  ///< Of one host.

/// Open questions about a host after a recovery of the quorum.
struct HostRecovery {
  bool awaits_hello = false;  ///< A new epoch began and the host has not registered since.
  /// Launched under an earlier epoch, listed by its last registration, and not adopted yet.
  std::vector<Token> unadopted;
  bool operator==(const HostRecovery&) const = default;
};

struct HostRecord {
  HostId id;
  HostNumber number{};  ///< Given with its first registration; never changes.
  AgentStart start;
  std::string boot_id;
  std::string name;
  std::string gpu_type;
  std::vector<std::string> gpus;  ///< In the agent's order.
  std::uint32_t cpus = 0;
  std::uint64_t memory_mb = 0;
  HostTraits traits;
  bool has_namespaces = true;  ///< False: the host takes only jobs that silence never ends.
  HostRecovery recovery;
  Token highest;  ///< The floor: the highest token ever granted here.
  // As last observed (entry::Observe).
  AgentStart seen;
  Verdict verdict = Verdict::kAlive;
  Health health = Health::kHealthy;
  std::string shortage;  ///< Why it is cordoned, for people.
  std::vector<std::string> unhealthy_gpus;
  std::vector<std::string> quarantined;  ///< Until its agent's next registration says otherwise.
  std::int64_t unix_ms = 0;  ///< The leader's wall clock when `verdict` became what it is.
  // Orders of operators.
  std::optional<HostDrain> drain;
  bool is_removed = false;  ///< Gone for good, until it registers or is observed again.
  /// The last order about each GPU, the oldest first. A mask stands until its unmask, whatever the
  /// host registers meanwhile; of unmasks the newest kGpuUnmasksKept are kept, for the host to
  /// hear.
  std::vector<GpuOrder> gpu_orders;
  bool operator==(const HostRecord&) const = default;

  /// Whether gossip shows a later start than the registered one: its hello is on the way.
  bool is_superseded() const {
    return seen.generation > start.generation ||
           (seen.generation == start.generation && seen.start_id != start.start_id &&
            seen.generation != Generation());
  }
  bool is_reachable() const { return verdict == Verdict::kAlive; }
  /// A host that is off keeps its name: it may come back. `leave` or `hosts remove` frees the name.
  bool keeps_name() const { return verdict != Verdict::kLeft && !is_removed; }
  /// Whether the GPU is registered and usable, held or not.
  bool offers(std::string_view uuid) const {
    return std::find(gpus.begin(), gpus.end(), uuid) != gpus.end() && is_usable(uuid);
  }
  /// The order that keeps the GPU out of use; nullptr if no mask is in force.
  const GpuOrder* mask_of(std::string_view uuid) const {
    const auto found = std::find_if(gpu_orders.begin(), gpu_orders.end(),
                                    [uuid](const GpuOrder& order) { return order.uuid == uuid; });
    return found == gpu_orders.end() || !found->is_mask ? nullptr : &*found;
  }
  /// Whether the GPU is healthy, not quarantined and not masked. Precondition: the host registered
  /// it.
  bool is_usable(std::string_view uuid) const;
  /// Whether the kind of this host suits the job, whatever is free on it. Does not look at names.
  bool suits(const JobSpec& spec) const;
  bool takes_work() const { return is_up() && !is_superseded() && !recovery.awaits_hello; }
  /// Whether the host may get work, now or after its agent registered.
  bool is_up() const {
    return is_reachable() && !is_removed && health == Health::kHealthy && !drain.has_value();
  }
};

}  // namespace muster::scheduler
