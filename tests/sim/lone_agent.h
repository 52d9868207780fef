#pragma once
// One agent whose GPUs are cut into slots, and a leader played by hand: the scheduler grants whole
// devices only, so no cluster of ours can ask what happens between a device and a slice of it. The
// leader speaks of a random place, free or not, as if its log had freed it (a host that slept past
// its Expire sees just that), and every word may come late or twice; now and then the agent dies,
// with all words to it, and starts again over its disk. The simulated supervisors say which ranks
// really run.

#include <cstdint>
#include <string>

namespace muster::sim {

struct LoneAgentResult {
  std::string violation;  ///< "" = none: no two attempts ran on overlapping places.
  std::uint64_t launches = 0;
};

LoneAgentResult run_lone_agent(std::uint64_t seed);

}  // namespace muster::sim
