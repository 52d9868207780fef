#pragma once
// The rules of the routes about access tokens and tickets.

#include "agent/api/rest/call_input.h"

namespace muster::agent {

CallStep list_tokens(CallInput& input);
CallStep make_token(CallInput& input);
CallStep end_token(CallInput& input);
CallStep list_tickets(CallInput& input);
CallStep make_ticket(CallInput& input);
CallStep end_ticket(CallInput& input);

}  // namespace muster::agent
