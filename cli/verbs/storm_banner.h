#pragma once
// Warnings about the cluster or the way to it, as lines above a screen.

#include <string>
#include <vector>

#include "agent/api/hosts.h"

namespace muster::cli {

/// The suspicion, since when, and what it means; "" if nothing is suspected.
std::string storm_banner(const agent::StormInfo& storm);
/// Which seeds the answering node never met, and how; "" when it met all.
std::string seeds_banner(const std::vector<agent::SeedInfo>& seeds);

}  // namespace muster::cli
