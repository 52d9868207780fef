#pragma once
// The simulated GPUs of a host whose GPUs are watched: what is really left on each after ranks, and
// what a look at it finds. Checkers ask here whether ranks began on a GPU that was not clean.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "agent/health/host_gpus.h"
#include "gossip/base/rng.h"
#include "gossip/base/time.h"
#include "tests/sim/rank_farm.h"

namespace muster::sim {

class GpuFarm {
 public:
  explicit GpuFarm(Rng rng) : rng_(rng) {}

  struct Answer {
    Duration after{0};
    agent::gpus::Input fact;
  };
  /// The answers of the edge to one command of the agent at `now`, in the clock of the host.
  std::vector<Answer> answers(Instant now, const agent::gpus::Command& command);
  /// Ranks began or ended. "" or what is wrong with that: a GPU was not clean.
  std::string on_fact(Instant now, const FarmFact& fact);
  /// A boot cleans all.
  void lose_power() { dirt_.clear(); }
  /// Something is left on it.
  bool is_dirty(Instant now, const std::string& uuid) const;

 private:
  struct Dirt {
    Instant until{};
    bool is_ours = false;  ///< A process of the grant: it is gone once it is killed.
  };
  agent::gpus::Viewed look(Instant now, Instant seen_at, const std::string& uuid) const;

  std::map<std::string, Dirt> dirt_;  ///< By uuid.
  Rng rng_;
};

}  // namespace muster::sim
