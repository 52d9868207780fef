#pragma once
// The rules of the routes about hosts.

#include "agent/api/rest/call_input.h"

namespace muster::agent {

CallStep list_hosts(CallInput& input);
CallStep list_targets(CallInput& input);
CallStep show_host(CallInput& input);
CallStep why_host(CallInput& input);
CallStep set_host(CallInput& input);
CallStep drain_host(CallInput& input);
CallStep undrain_host(CallInput& input);
CallStep fence_host(CallInput& input);
CallStep remove_host(CallInput& input);
CallStep revoke_host(CallInput& input);

}  // namespace muster::agent
