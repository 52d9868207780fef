#pragma once
// Hosts that are thrown out of a cluster that loses packets: how long after the leader's log says
// so the last host that runs refuses them and no connection to or from them is left. Links behave
// as TCP's do, those that end included. All hosts have ranks.

#include <cstdint>
#include <vector>

#include "gossip/base/time.h"
#include "tests/sim/world.h"

namespace muster::sim {

struct RevocationOptions {
  std::uint32_t hosts = 300;
  std::uint64_t seed = 1;
  std::uint32_t loss_percent = 5;  ///< Of all that is sent, once the cluster has settled.
  /// One after the other. The last of them votes and does not lead, the others do not vote.
  std::uint32_t rounds = 10;
  bool trace = false;
};

struct Revocation {
  bool had_a_vote = false;
  Duration refused{0};  ///< From the commit until all others refused it.
  Duration closed{0};   ///< Until no connection was left, too: never sooner than `refused`.
};

struct RevocationResult {
  std::vector<Revocation> revocations;
  /// A host that was never out, or came in again; and what the checkers found.
  std::vector<Violation> violations;
  std::uint64_t hash = 0;
};

RevocationResult run_revocations(const RevocationOptions& options);

}  // namespace muster::sim
