#pragma once
// Runs of many hosts that come all at once or share few cores, seed by seed, and their figures on
// stdout. Each returns the exit code: 0 when no checker spoke.

#include <cstdint>

#include "tests/sim/starved.h"

namespace muster::sim {

struct Seeds {
  std::uint64_t first = 1;
  std::uint64_t last = 1;
};

/// `newcomers` hosts join at once on one ticket.
int tell_herds(std::uint32_t newcomers, Seeds seeds, bool trace);
/// `options` but for the seed.
int tell_starved(StarvedOptions options, Seeds seeds);

}  // namespace muster::sim
