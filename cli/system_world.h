#pragma once
// The World of a real process.

#include "cli/world.h"

namespace muster::cli {

World system_world();

}  // namespace muster::cli
