#pragma once
// The rules of the routes about the quorum.

#include "agent/api/rest/call_input.h"

namespace muster::agent {

CallStep show_quorum(CallInput& input);
CallStep add_voter(CallInput& input);
CallStep remove_voter(CallInput& input);
CallStep transfer_lead(CallInput& input);

}  // namespace muster::agent
