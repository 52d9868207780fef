#pragma once
// The trial of access: real Nodes in a cluster of five are asked for every verb, by users of every
// role, about own jobs, those of their team and others, on every way to a node, with and without
// signatures; the oracle judges each answer.

#include <cstdint>
#include <string>
#include <vector>

#include "tests/sim/crowds.h"
#include "tests/sim/world.h"

namespace muster::sim {

struct AccessTrialResult {
  std::uint64_t cells = 0;
  std::uint64_t refused = 0;       ///< Answers that were denials, rightly or not.
  std::vector<std::string> wrong;  ///< Cells whose answer is not the expected one, with both.
  std::vector<Violation> violations;
  AccessTrialResult& operator+=(const AccessTrialResult& other);
};

/// In a cluster whose administrators have no keys, then in one in which all persons have one. It
/// ends at the first `wrong_max` answers that are wrong.
AccessTrialResult run_access_trial(std::uint64_t seed, std::size_t wrong_max = SIZE_MAX);

/// Prints the figures of these seeds, and each wrong cell. The exit status of muster_sim.
int tell_access_trials(const Seeds& seeds);

}  // namespace muster::sim
