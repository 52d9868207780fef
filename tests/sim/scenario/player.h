#pragma once
// Plays a scenario's acts on a simulated cluster and writes down what happened.

#include <cstdint>
#include <string>
#include <vector>

#include "gossip/base/ids.h"
#include "tests/sim/scenario/timeline.h"
#include "tests/sim/scenario/words.h"
#include "tests/sim/world.h"

namespace muster::sim::scenario {

struct PlayOptions {
  std::uint64_t seed = 1;
  std::vector<HostId> ids;  ///< Of the hosts; empty = made of the seed.
  bool trace = false;
  Duration user_timeout = WorldOptions().user_timeout;
};

struct Played {
  Timeline timeline;
  std::vector<Violation> violations;
  std::uint64_t hash = 0;
  NetworkStats network;
};

/// Precondition: the simulator lacks none of its verbs (what_is_lacking).
Played play(const Scenario& scenario, const PlayOptions& options);

}  // namespace muster::sim::scenario
