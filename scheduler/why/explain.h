#pragma once
// "Why is my job pending?": what it lacks, who holds it, who is ahead, and the
// smallest change that would start it now. Reads what placement reads; nothing here decides
// anything.

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/placement/capacity.h"
#include "scheduler/policy/queue_key.h"
#include "scheduler/state/state.h"

namespace muster::scheduler {

struct Holder {
  JobId job;
  std::uint32_t gpus = 0;  ///< Of the type, where this job could use them.
  std::uint64_t cpus = 0;  ///< Thousandths, there.
  std::vector<HostId> hosts;
  bool operator==(const Holder&) const = default;
};

/// GPUs that no end of a job would give to this one.
struct Withheld {
  std::string reason;
  std::uint32_t gpus = 0;
  bool operator==(const Withheld&) const = default;
};

/// Hosts that can hold no unit of it now, by the first thing that stands against each.
struct Filtered {
  std::string reason;
  std::uint32_t hosts = 0;
  bool operator==(const Filtered&) const = default;
};

/// Hosts that take work by the log, but not as whoever asks sees them, and how he calls that. The
/// leader places nothing there either until the log says the same.
using HostDoubts = std::map<HostId, std::string>;

/// The reasons why a job is not tried at all, whatever is free.
struct Standstill {
  bool awaits_hosts = false;  ///< The queue stands still: State::awaits_hosts().
  Duration retry_in{0};       ///< The job pauses for so long, in cluster time; 0 = it does not.
  bool is_none() const { return !awaits_hosts && retry_in == Duration::zero(); }
};

struct Why {
  JobId job;
  JobState state = JobState::kQueued;
  bool is_queued = false;      ///< Otherwise only `state` and `reason` are set.
  bool is_impossible = false;  ///< More than all hosts that have not left could hold.
  bool has_gpus = true;        ///< It asks for some; else the numbers are ranks.
  bool fits_now = false;       ///< Enough is free: only the queue holds it back.
  bool is_aside = false;       ///< The hosts that are up could not hold it: others pass (Capacity).
  std::uint32_t live_gpus = 0;  ///< What it could get of them, if nobody held any.
  Standstill standstill{};
  std::string reason;      ///< The job's own last word: "submitted", "host_lost", ...
  std::string gpu_type;    ///< The type the numbers speak of: the one that lacks least.
  std::uint32_t gpus = 0;  ///< Asked for.
  std::uint32_t free_gpus = 0;
  std::uint32_t lacking_gpus = 0;
  /// Queued before it, best first, at most kWhyAheadMax; those that stepped aside are not.
  std::vector<JobId> ahead;
  std::size_t ahead_count = 0;
  std::vector<Holder> holders;  ///< By GPUs held, most first.
  /// The smallest set of jobs whose end would make it fit (what_if.h). Empty when it fits now or
  /// when no end of jobs is enough. The queue is strict: it starts then only if nothing is ahead.
  std::vector<JobId> smallest_end;
  /// The largest gang of its shape that would fit now; 0 = none.
  std::uint32_t largest_now = 0;
  /// The same as close together as each level says, closest first.
  std::vector<std::pair<Pack, std::uint32_t>> largest;
  std::vector<Filtered> filtered;  ///< Most hosts first.
  std::uint32_t open_hosts = 0;    ///< That can hold some of it now.
  /// What it could ask for otherwise so that it fits now, each alone: "fewer CPUs", "--pack any".
  std::vector<std::string> would_fit_with;
  std::vector<HostId> left_out;    ///< Hosts that refused it or were late.
  std::vector<Withheld> withheld;  ///< Of `gpu_type`, by reason.
  /// GPUs of its type on hosts without PID namespaces, which take it only under isolation `keep`.
  std::uint32_t barred_gpus = 0;

  /// What is missing now, in words.
  std::string lack_text() const;
  /// One plain line for a person: why, and what is lacking. Who and what else: the fields above.
  std::string text() const;
};

inline constexpr std::size_t kWhyAheadMax = 16;

/// The number of a job that is not submitted: it stands behind all of its priority.
inline constexpr JobId kDryRun{kFirstTask.value() - 1};

/// "host c starts nothing: disk: ...". Precondition: it said so.
std::string shortage_text(const HostRecord& host);
/// "8s", of a pause; begun seconds count.
std::string pause_text(Duration left);
/// How long the job pauses yet, in cluster time; 0 = it does not.
Duration retry_in(const State& state, const Job& job);

/// Nothing when the job is unknown.
/// `capacity` and `queue` are of that state.
std::optional<Why> why(const State& state, Capacity& capacity, const Queue& queue, JobId job,
                       const HostDoubts& doubts = {});
/// The same of a job that is queued, or would be: then it has the number kDryRun.
Why why_queued(const State& state, Capacity& capacity, const Queue& queue, const Job& job,
               const HostDoubts& doubts = {});

}  // namespace muster::scheduler
