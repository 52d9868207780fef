#pragma once
// Hosts that all join within a second on one counted ticket, each as agent/edge/join/joiner.cc
// does, and the cost of that for the leader. A handshake is charged at its measured cost; the cost
// of its Node is measured as it runs, and no part of the run reads it.

#include <cstdint>
#include <vector>

#include "gossip/base/time.h"
#include "tests/sim/world.h"

namespace muster::sim {

struct HerdOptions {
  std::uint32_t newcomers = 300;
  std::uint64_t seed = 1;
  /// Number of times that all founders change their link keys before the first newcomer.
  std::uint64_t key_rounds = 0;
  /// Of one side, for one CURVE handshake.
  Duration handshake = std::chrono::microseconds(550);
  bool trace = false;
};

struct HerdResult {
  /// From the first Join to the last newcomer that all founders list alive, with its row.
  Duration took{0};
  bool is_whole = false;         ///< All of them came to that.
  HostCost leader;               ///< In that time, of the host that led all the while.
  Duration joined_last{0};       ///< From the first Join to the last answer that let a host in.
  std::uint64_t joins_said = 0;  ///< To any door, repeated ones among them.
  std::vector<Violation> violations;
  std::uint64_t hash = 0;
};

HerdResult run_herd(const HerdOptions& options);

}  // namespace muster::sim
