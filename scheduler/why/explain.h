#pragma once
// Explains why a job is pending: what it lacks, which jobs hold that, which jobs are ahead, and the
// smallest change that would start it now. Reads the same facts as placement, and decides nothing.

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/placement/capacity.h"
#include "scheduler/policy/queue_key.h"
#include "scheduler/state/state.h"
#include "scheduler/why/turn.h"

namespace muster::scheduler {

struct Holder {
  JobId job;
  std::uint32_t gpus = 0;  ///< Of the type, where this job could use them.
  std::uint64_t cpus = 0;  ///< Thousandths, there.
  std::vector<HostId> hosts;
  bool operator==(const Holder&) const = default;
};

/// GPUs that this job does not get, whichever jobs end.
struct Withheld {
  std::string reason;
  std::uint32_t gpus = 0;
  bool operator==(const Withheld&) const = default;
};

/// Hosts that can hold no unit of the job now, by the first obstacle of each.
struct Filtered {
  std::string reason;
  std::uint32_t hosts = 0;
  bool operator==(const Filtered&) const = default;
};

/// Hosts that take work by the log, but not by the view of the node that explains, with its reason.
/// The leader places nothing there either until the log says the same.
using HostDoubts = std::map<HostId, std::string>;

/// Reasons why a job is not tried at all, whatever is free.
struct Standstill {
  bool awaits_hosts = false;  ///< The queue stands still: State::awaits_hosts().
  Duration retry_in{0};       ///< Rest of the job's pause, in cluster time; 0 = it does not pause.
  std::string conditions{};   ///< conditions_text() of the job; "" = it waits for no job or time.
  bool is_none() const {
    return !awaits_hosts && retry_in == Duration::zero() && conditions.empty();
  }
};

/// A single change of the request, and what the job lacks without it.
struct Remedy {
  std::string change;  ///< "fewer CPUs", "--pack any"
  std::string lack;    ///< "CPUs", "room that is as close together"
};

struct Why {
  JobId job;
  JobState state = JobState::kQueued;
  bool is_queued = false;      ///< Otherwise only `state` and `reason` are set.
  bool is_impossible = false;  ///< More than all hosts that have not left could hold.
  bool has_gpus = true;        ///< The job asks for GPUs; else the numbers count ranks.
  bool fits_now = false;       ///< Enough is free: only the queue holds it back.
  bool is_aside = false;       ///< The hosts that are up could not hold it: others pass (Capacity).
  std::string need{};          ///< need_text() of the job; "" unless it is aside.
  Standstill standstill{};
  std::string reason;      ///< JobLife::reason: "submitted", "host_lost", ...
  std::string gpu_type;    ///< The type that the numbers are about: the one that lacks least.
  std::uint32_t gpus = 0;  ///< Asked for.
  std::uint32_t free_gpus = 0;
  std::uint32_t lacking_gpus = 0;
  std::string queue{};         ///< Path of the queue that the job counts in.
  Tier tier = Tier::kNone;     ///< Of the job.
  std::string full_queue{};    ///< The queue whose max keeps it out of each pool; "" = no max does.
  std::uint64_t full_max = 0;  ///< That max, in GPUs or CPUs.
  std::string full_pool{};     ///< A GPU type, kAllGpus or kCpus; "" without such a queue.
  /// Jobs before it, of its queue and, unless the users of that share one leaf, of its user: best
  /// first, at most kWhyAheadMax, without those that stepped aside or that no pool of it is for.
  std::vector<JobId> ahead;
  std::size_t ahead_count = 0;
  /// Jobs of other queues and users that wait for a pool of it: they may go first.
  std::size_t others_wait = 0;
  Turn turn{};                  ///< Which job starts before it in its pool, and why.
  std::vector<Holder> holders;  ///< By GPUs held, most first.
  /// The smallest set of jobs whose end would make it fit (what_if.h). Empty if it fits now or if
  /// no end of jobs is enough. It then starts if it is first in its pool,
  /// as Turn::is_next_then says.
  std::vector<JobId> smallest_end;
  /// The largest gang of its shape that would fit now; 0 = not even one unit fits.
  std::uint32_t largest_now = 0;
  /// The same for each level of Pack, closest first.
  std::vector<std::pair<Pack, std::uint32_t>> largest;
  std::vector<Filtered> filtered;  ///< Most hosts first.
  std::uint32_t open_hosts = 0;    ///< Hosts that can hold some of it now.
  /// Each of them alone makes it fit now.
  std::vector<Remedy> would_fit_with;
  std::vector<HostId> left_out;    ///< Hosts that refused it or were late.
  std::vector<Withheld> withheld;  ///< GPUs of `gpu_type`, by reason.
  /// GPUs of its type on hosts without PID namespaces, which take it only under isolation `keep`.
  std::uint32_t barred_gpus = 0;

  /// The lack in words, for people: the max of a queue, or what is not free.
  std::string lack_text() const;
  /// One line for people: the reason, and the lack. The fields above have the rest.
  std::string text() const;
};

inline constexpr std::size_t kWhyAheadMax = 16;

/// The number of a job that is not submitted: it stands behind all others of its leaf, tier and
/// priority.
inline constexpr JobId kDryRun{kFirstTask.value() - 1};

/// "host c starts nothing: disk: ...". Precondition: the host has a shortage.
std::string shortage_text(const HostRecord& host);
/// The reason of a job before its lack: "host lost; ", or "" if it was just submitted.
std::string lead_text(const std::string& reason);
/// "needs 10 GPUs, and the suitable hosts that are up have 8": `live` units of the job could be
/// placed if every host that is up were free.
std::string need_text(const Job& job, std::uint32_t live);
/// "8s" for the rest of a pause, rounded up.
std::string pause_text(Duration left);
/// "queue research/nlp is at its max of 256 H100"; "" if no max keeps the job out.
std::string full_text(const State& state, Capacity& capacity, const Job& job);
/// The rest of the job's pause, in cluster time; 0 = it does not pause.
Duration retry_in(const State& state, const Job& job);

/// nullopt if the job is unknown. Precondition: `capacity` and `queue` are of that state.
std::optional<Why> why(const State& state, Capacity& capacity, const LeafQueues& queue, JobId job,
                       const HostDoubts& doubts = {});
/// The same for a job that is queued, or that is not submitted and has the number kDryRun.
Why why_queued(const State& state, Capacity& capacity, const LeafQueues& queue, const Job& job,
               const HostDoubts& doubts = {});

}  // namespace muster::scheduler
