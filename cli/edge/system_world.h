#pragma once
// The World of a real process.

#include "cli/kit/world.h"

namespace muster::cli {

World system_world();

}  // namespace muster::cli
