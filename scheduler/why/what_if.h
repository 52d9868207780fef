#pragma once
// A trial of jobs' ends on a copy of the free space: would a request fit then? For explanations
// (explain.h); it decides nothing. Lives as long as one answer; the state must not change
// meanwhile.

#include <map>
#include <set>
#include <vector>

#include "scheduler/placement/capacity.h"

namespace muster::scheduler {

class WhatIf {
 public:
  /// Tries on the hosts of `choice`. O(hosts and live attempts).
  WhatIf(const State& state, const Capacity& capacity, HostChoice choice);
  /// Whether the shape would fit if all of these jobs ended. O(hosts of these jobs).
  bool fits_without(const Shape& shape, const std::vector<JobId>& jobs);

  /// The fewest of these jobs whose end makes the shape fit, of equally many those that hold fewest
  /// GPUs. Empty if no end is enough, or if the shape fits already. `jobs` are in the order in
  /// which they are tried, each with the GPUs that it holds where the shape could use them. With
  /// more than kExactJobsMax jobs the result is perhaps not the smallest; up to kPrunedMax of its
  /// jobs were tried and are needed.
  std::vector<JobId> smallest_end(const Shape& shape,
                                  const std::vector<std::pair<JobId, std::uint32_t>>& jobs);

 private:
  const State& state_;
  const Capacity& capacity_;
  HostChoice choice_;
  CapacityIndex free_;
  std::map<JobId, std::vector<Token>> attempts_;  ///< Live attempts that hold something.
};

/// Up to this many jobs, all sets of them are tried.
inline constexpr std::size_t kExactJobsMax = 10;
/// With more jobs, this many are tried one by one whether they are needed.
inline constexpr std::size_t kPrunedMax = 64;

}  // namespace muster::scheduler
