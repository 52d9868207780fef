#pragma once
// The rule of the route of a rank's output.

#include "agent/api/rest/call_input.h"

namespace muster::agent {

/// One piece of the output of a rank, as lines of JSON; muster-next says where the next one begins.
CallStep rank_output(CallInput& input);

}  // namespace muster::agent
