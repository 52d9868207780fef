#pragma once
// The rules of the routes about users.

#include "agent/api/rest/call_input.h"

namespace muster::agent {

CallStep list_users(CallInput& input);
CallStep change_users(CallInput& input);

}  // namespace muster::agent
