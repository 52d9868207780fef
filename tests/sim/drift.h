#pragma once
// The timing proof of an eviction, played with clocks at the edge of what it assumes: a
// host with a gang whose clock is slow, cut off from all but the leader, so that it renews its hold
// until the moment it is condemned; voters whose clocks are fast, which free its GPUs.

#include <cstdint>
#include <vector>

#include "gossip/base/time.h"
#include "tests/sim/world.h"

namespace muster::sim {

struct DriftResult {
  std::vector<Violation> violations;
  /// True time from the end of the last rank to the moment its GPUs are free; negative: the proof
  /// does not hold.
  Duration slack{0};
  bool was_freed = false;
};

/// Each clock is `permille` off true time, to its worst side.
DriftResult run_drift(std::uint64_t seed, std::int64_t permille, Duration hold);

}  // namespace muster::sim
