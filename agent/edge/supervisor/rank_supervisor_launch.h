#pragma once
// The order of a launch, made of a grant: arguments and environment of its ranks.

#include <string>
#include <vector>

#include "agent/edge/grant/supervise_protocol.h"
#include "agent/gang/gang_interface.h"

namespace muster::agent {

/// PATH, HOME and LANG of this process, then the job's environment, then ours: RANK, WORLD_SIZE and
/// the rest cannot be overridden by a job. CUDA_VISIBLE_DEVICES names every GPU of the grant on
/// this host, so that LOCAL_RANK is the index of the rank's own, as torch programs expect. A rank
/// that becomes the user of its job gets HOME and the like of that user from its supervisor.
LaunchOrder order_of(const Launch& launch, const std::vector<std::string>& hosts);

}  // namespace muster::agent
