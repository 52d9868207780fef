#pragma once
// "Why is my job pending?": what it lacks, who holds it, who is ahead, and the
// smallest change that would start it now. Reads what placement reads; nothing here decides
// anything.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/placement/capacity.h"
#include "scheduler/state/state.h"

namespace muster::scheduler {

struct Holder {
  JobId job;
  std::uint32_t gpus = 0;  ///< Of the type, where this job could use them.
  std::vector<HostId> hosts;
  bool operator==(const Holder&) const = default;
};

/// GPUs that no end of a job would give to this one.
struct Withheld {
  std::string reason;
  std::uint32_t gpus = 0;
  bool operator==(const Withheld&) const = default;
};

/// Hosts that take work by the log, but not as whoever asks sees them, and how he calls that. The
/// leader places nothing there either until the log says the same.
using HostDoubts = std::map<HostId, std::string>;

struct Why {
  JobId job;
  JobState state = JobState::kQueued;
  bool is_queued = false;      ///< Otherwise only `state` and `reason` are set.
  bool is_impossible = false;  ///< More GPUs than all registered hosts have.
  bool fits_now = false;       ///< Enough is free: only the queue holds it back.
  bool is_aside = false;       ///< The hosts that are up could not hold it: others pass (Capacity).
  std::uint32_t live_gpus = 0;  ///< What it could get of them, if nobody held any.
  bool awaits_hosts = false;    ///< The queue stands still: State::awaits_hosts().
  std::string reason;           ///< The job's own last word: "submitted", "host_lost", ...
  std::string gpu_type;         ///< The type the numbers speak of: the one that lacks least.
  std::uint32_t gpus = 0;       ///< Asked for.
  std::uint32_t free_gpus = 0;
  std::uint32_t lacking_gpus = 0;
  /// Queued before it, best first, at most kWhyAheadMax; those that stepped aside are not.
  std::vector<JobId> ahead;
  std::size_t ahead_count = 0;
  std::vector<Holder> holders;  ///< By GPUs held, most first.
  /// The smallest set of jobs whose end would make it fit: fewest jobs, then fewest GPUs. Empty
  /// when it fits now or when no end of jobs is enough. The queue is strict: it starts then only if
  /// nothing is ahead.
  std::vector<JobId> smallest_end;
  /// The largest gang of its type that would fit now; 0 = none.
  std::uint32_t largest_now = 0;
  std::vector<HostId> left_out;    ///< Hosts that refused it or were late.
  std::vector<Withheld> withheld;  ///< Of `gpu_type`, by reason.
  /// GPUs of its type on hosts without PID namespaces, which take it only under isolation `keep`.
  std::uint32_t barred_gpus = 0;

  /// One plain line for a person: why, and what is lacking. Who and what else: the fields above.
  std::string text() const;
};

inline constexpr std::size_t kWhyAheadMax = 16;
/// Above these the choice among equally many jobs is greedy (fewest jobs still, GPUs perhaps not).
inline constexpr std::size_t kWhyExactJobsMax = 64;
inline constexpr std::uint32_t kWhyExactGpusMax = 1024;

/// Nothing when the job is unknown.
/// `capacity` is of that state.
std::optional<Why> why(const State& state, Capacity& capacity, JobId job,
                       const HostDoubts& doubts = {});

/// The smallest set, by count then sum, of `sizes` whose sum reaches `need`; indexes into `sizes`,
/// ascending. Empty when even all do not suffice, or nothing is needed.
std::vector<std::size_t> smallest_cover(const std::vector<std::uint32_t>& sizes,
                                        std::uint32_t need);

}  // namespace muster::scheduler
