#pragma once
// The single copy that a linearisable history is measured by (linearisable.h): the jobs in the
// order of their numbers, and of each the set of points of its life at which it may be.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/sim/linearisable.h"

namespace muster::sim {

/// The words of all reads of a history about one job. A job has one life: it bounds what may have
/// happened in between, and where the search need not look.
struct JobTold {
  std::vector<scheduler::JobState> life;  ///< The longest that was seen.
  std::uint32_t attempts = 0;             ///< The highest that was seen.
};
using Told = std::map<JobId, JobTold>;

/// nullopt if two reads told lives of which neither goes on from the other, or a life that the
/// table does not allow; then `why` says so.
std::optional<Told> gather(const std::vector<Operation>& history, std::string& why);

/// One point of a job's life. `moves` are its transitions so far; both counts stop one beyond what
/// anybody saw, where they make no difference any more.
struct LifePoint {
  scheduler::JobState state = scheduler::JobState::kQueued;
  scheduler::JobOrder order = scheduler::JobOrder::kNone;
  std::uint32_t attempts = 0;
  std::uint32_t moves = 1;
  auto operator<=>(const LifePoint&) const = default;
};

class SingleCopy {
 public:
  explicit SingleCopy(const Told& told) : told_(&told) {}

  /// Applies the operation with its answer. False: that answer cannot be given here; the copy is
  /// then of no use any more.
  bool apply(const Operation& operation);
  /// Equal keys: equal copies.
  std::string key() const;

 private:
  using Points = std::vector<LifePoint>;  ///< Ordered, without repeats.
  struct JobCopy {
    std::string name;
    Points points;
  };

  bool submit(const SubmitAsked& asked, const Operation& operation);
  bool word(const WordAsked& asked, Answered answered);
  bool see(const Sighting& sighting);
  bool knows(JobId job) const { return job.value() >= 1 && job.value() <= jobs_.size(); }
  const JobTold& told(JobId job) const;
  /// Everywhere it may have gone from there by itself.
  Points closure(JobId job) const;

  const Told* told_;
  std::vector<JobCopy> jobs_;
};

}  // namespace muster::sim
