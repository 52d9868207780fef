#pragma once
// One host's share of one attempt, as a key. What is kept beside the state about a member (a timer,
// a message to repeat, a Condemn on its way) is kept by it; those of one attempt lie side by side.

#include <utility>

#include "scheduler/protocol/agent_messages.h"

namespace muster::scheduler {

using MemberKey = std::pair<Token, HostId>;

}  // namespace muster::scheduler
