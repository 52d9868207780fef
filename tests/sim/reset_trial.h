#pragma once
// The trial of resets: real Nodes in a cluster of four are asked to reset the administrators, by
// logins and hosts that may not and by root of a voter. A reset takes the keys and access tokens of
// all administrators, and every host raises the alarm once, also one that was off meanwhile.

#include <cstdint>
#include <string>
#include <vector>

#include "tests/sim/crowds.h"
#include "tests/sim/world.h"

namespace muster::sim {

struct ResetTrialResult {
  std::uint64_t refused = 0;       ///< Requests that were denied, rightly or not.
  std::uint64_t alarms = 0;        ///< Of all hosts.
  std::vector<std::string> wrong;  ///< Sentences about what is not as it should be.
};

ResetTrialResult run_reset_trial(std::uint64_t seed);

/// Prints the figures of these seeds, and what was wrong. The exit status of muster_sim.
int tell_reset_trials(const Seeds& seeds);

}  // namespace muster::sim
