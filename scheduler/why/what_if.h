#pragma once
// What would fit if some jobs ended: a copy of what is free, asked and put back. For who explains;
// it decides nothing. Lives as long as one answer; the state does not change meanwhile.

#include <map>
#include <set>
#include <vector>

#include "scheduler/placement/capacity.h"

namespace muster::scheduler {

class WhatIf {
 public:
  /// On hosts of `choice`. O(hosts and live attempts).
  WhatIf(const State& state, const Capacity& capacity, HostChoice choice);
  /// Whether it would fit if all of these jobs ended. O(hosts that they hold something of).
  bool fits_without(const Shape& shape, const std::vector<JobId>& jobs);

  /// Of jobs that hold something, the fewest whose end makes it fit, of those the ones that hold
  /// fewest GPUs; empty = none do, or it fits already. `jobs` in the order in which they are tried,
  /// with the GPUs that each holds where the shape could use them. Above kExactJobsMax of them it
  /// is a set without one that is not needed, perhaps not the smallest.
  std::vector<JobId> smallest_end(const Shape& shape,
                                  const std::vector<std::pair<JobId, std::uint32_t>>& jobs);

 private:
  const State& state_;
  const Capacity& capacity_;
  HostChoice choice_;
  CapacityIndex free_;
  std::map<JobId, std::vector<Token>> attempts_;  ///< That hold something.
};

/// All sets of so many jobs are tried.
inline constexpr std::size_t kExactJobsMax = 10;
/// Of more, so many are tried one by one whether they are needed.
inline constexpr std::size_t kPrunedMax = 64;

}  // namespace muster::scheduler
