#pragma once
// The abilities of this host to hold ranks, and the facts that their rooms are made from.

#include <string>
#include <vector>

#include "agent/edge/isolation/ability_probe.h"
#include "agent/edge/run/run_agent.h"
#include "agent/isolation/room_plan.h"
#include "scheduler/protocol/host_traits.h"

namespace muster::agent {

/// As given, what the kernel says, and what ranks are held to here.
scheduler::HostTraits traits_of(const RunOptions& options, const AbilitySet& abilities);

/// Tries what this host can hold ranks to, and logs it. Before the agent has threads.
ProbedHost probe_host(const RunOptions& options);

/// Why this host may start nothing, for want of an ability that `min_isolation` names; "" = it may.
/// `held` are the abilities that hold ranks here: where ranks are root no room does.
std::string why_unfit(const std::vector<std::string>& min_isolation, const AbilitySet& held);
/// The abilities that hold the ranks of an agent with these options.
AbilitySet held_by(const RunOptions& options, const AbilitySet& abilities);

/// All but the nodes of GPUs. `socket`: where ranks may ask the agent.
RoomHost room_host(const ProbedHost& probed, const RunOptions& options, const std::string& socket);

}  // namespace muster::agent
