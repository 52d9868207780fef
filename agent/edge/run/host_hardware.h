#pragma once
// The hardware of this host, as its agent offers it.

#include <string>

#include "agent/edge/isolation/ability_probe.h"
#include "agent/edge/run/run_agent.h"
#include "agent/isolation/room_plan.h"
#include "crdt/rows/host_state.h"
#include "gossip/base/ids.h"
#include "gossip/base/result.h"
#include "scheduler/protocol/host_traits.h"

namespace muster::agent {

/// The GPUs, processors and memory that the host offers, and in `traits` the islands of its GPUs.
/// Without --gpus it offers none; it can still vote and answer.
Result<crdt::Capacity> read_capacity(const std::string& gpus, HostId host,
                                     scheduler::HostTraits& traits);

/// As given, what the kernel says, and what ranks are held to here.
scheduler::HostTraits traits_of(const RunOptions& options, const AbilitySet& abilities);

/// Tries what this host can hold ranks to, and logs it. Before the agent has threads.
ProbedHost probe_host(const RunOptions& options);

/// The facts that plans of rooms are made from. `socket`: where ranks may ask the agent.
RoomHost room_host(const ProbedHost& probed, const RunOptions& options, const std::string& socket);

}  // namespace muster::agent
