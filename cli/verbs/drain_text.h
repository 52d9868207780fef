#pragma once
// A drained host in one line.

#include <string>

#include "agent/api/hosts.h"

namespace muster::cli {

/// Who drained it, when and why, and which jobs it waits for. Precondition: it is drained.
std::string drain_text(const agent::HostUse& host);

}  // namespace muster::cli
