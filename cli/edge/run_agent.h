#pragma once
// The agent of this host, run by this process.

#include "cli/kit/agent_verb.h"

namespace muster::cli {

/// Runs an agent until it is told to end; the exit code of the process.
int run_agent(const AgentOptions& options);

}  // namespace muster::cli
