#pragma once
// Hosts that share few cores, where work has its price: they boot all at once, are cut in halves
// and healed, some agents are killed and started again, and for a while others take most of the
// machine. Even so no host may take a host that runs for one that is gone.

#include <cstdint>
#include <vector>

#include "gossip/base/time.h"
#include "tests/sim/world.h"

namespace muster::sim {

struct StarvedOptions {
  std::uint32_t hosts = 96;
  std::uint64_t seed = 1;
  std::uint32_t cores = 2;
  /// Of a machine that takes so many times as long for everything as the one that was measured.
  std::uint32_t slowness = 1;
  Duration length = std::chrono::seconds(120);
  bool trace = false;
};

struct StarvedResult {
  Duration formed{0};           ///< From the first start until all knew all; 0 = never.
  Duration form_cpu{0};         ///< Of all of them together, until then.
  Duration rest_cpu{0};         ///< Until faults begin.
  std::uint64_t verdicts = 0;   ///< About hosts that ran and could be reached.
  std::uint64_t elections = 0;  ///< After the first.
  std::vector<Violation> violations;
  std::uint64_t hash = 0;
};

/// The price list of bench/RESULTS.md, times `slowness`.
PriceList usual_prices(std::uint32_t cores, std::uint32_t slowness = 1);
StarvedResult run_starved(const StarvedOptions& options);

}  // namespace muster::sim
