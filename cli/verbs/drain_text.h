#pragma once
// A drained host in one line.

#include <string>

#include "agent/api/hosts.h"

namespace muster::cli {

/// The user who drained it, when and why, and the jobs it waits for. Precondition: it is drained.
std::string drain_text(const agent::HostUse& host);

}  // namespace muster::cli
