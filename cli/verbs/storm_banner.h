#pragma once
// What the silent hosts look like, as lines above a screen.

#include <string>

#include "agent/api/hosts.h"

namespace muster::cli {

/// What is suspected, since when, and what it means; "" when nothing is.
std::string storm_banner(const agent::StormInfo& storm);

}  // namespace muster::cli
