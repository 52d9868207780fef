#pragma once
// The hardware of this host, as its agent offers it.

#include <string>

#include "agent/edge/run/run_agent.h"
#include "crdt/rows/host_state.h"
#include "gossip/base/ids.h"
#include "gossip/base/result.h"
#include "scheduler/protocol/host_traits.h"

namespace muster::agent {

/// The GPUs, processors and memory that the host offers, and in `traits` the islands of its GPUs.
/// Without --gpus it offers none; it can still vote and answer.
Result<crdt::Capacity> read_capacity(const std::string& gpus, HostId host,
                                     scheduler::HostTraits& traits);

/// As given, and what the kernel says.
scheduler::HostTraits traits_of(const RunOptions& options);

}  // namespace muster::agent
