#pragma once
// The rules of the routes about queues and shares.

#include "agent/api/rest/call_input.h"

namespace muster::agent {

CallStep list_queues(CallInput& input);
CallStep set_queues(CallInput& input);
CallStep list_shares(CallInput& input);

}  // namespace muster::agent
