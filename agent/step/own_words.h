#pragma once
// Who this host is and what it offers, from the options of its Node, in the words of each part that
// wants to know.

#include <optional>
#include <string>

#include "agent/gang/gang_agent.h"
#include "agent/step/words.h"
#include "crdt/store/host_store.h"
#include "gossip/base/event.h"
#include "scheduler/seat/quorum_seat.h"

namespace muster::agent {

AgentIdentity identity_of(const NodeOptions& options);
Event start_event(const NodeOptions& options);
/// Healthy GPUs only.
Inventory inventory_of(const NodeOptions& options);
/// With how many this host founds a cluster, as its own record says; 0 = it came later.
std::uint64_t founders_wanted(const NodeOptions& options);
scheduler::SeatOptions seat_options(const NodeOptions& options);
/// Asks a host for the row of `self` as it has it: whoever floods does not say what arrived.
std::string own_row_question(HostId self);
/// For the own row: what this host offers; with a shortage it takes nothing new.
crdt::Publish capacity_field(const NodeOptions& options, const std::string& shortage);
/// For the own row. `left`: it is a goodbye.
crdt::Publish identity_field(const NodeOptions& options, bool left);

}  // namespace muster::agent
