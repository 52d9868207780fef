#pragma once
// The rules of the routes about the cluster as a whole, and about the agent that answers.

#include "agent/api/rest/call_input.h"

namespace muster::agent {

CallStep show_version(CallInput& input);
CallStep show_whoami(CallInput& input);
CallStep show_stats(CallInput& input);
CallStep list_events(CallInput& input);
CallStep list_audit(CallInput& input);
CallStep show_usage(CallInput& input);
CallStep show_keys(CallInput& input);
CallStep rotate_keys(CallInput& input);
CallStep show_http_root(CallInput& input);
CallStep show_openapi(CallInput& input);

}  // namespace muster::agent
