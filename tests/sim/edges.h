#pragma once
// Every edge of the attempt table runs in the simulator. Faults at random reach most edges; acts
// reach the edges that need a fault at one certain moment. An edge that no run of whole agents can
// reach is named here, with the reason, and left to the table test.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/state/reservations.h"
#include "tests/sim/swarm.h"

namespace muster::sim {

struct ExemptEdge {
  scheduler::Edge edge;
  std::string_view reason;
};
const std::vector<ExemptEdge>& exempt_edges();

/// Judges the edges that all runs together took: one line each for an edge that was neither reached
/// nor exempted, and for one that is exempted and was reached all the same.
std::vector<std::string> judge_edges(const scheduler::EdgeCounts& edges);

/// Five hosts, every checker, and one act after the other. `faults` counts the acts that came to
/// their point.
SwarmResult run_edge_acts(std::uint64_t seed);

}  // namespace muster::sim
