#pragma once
// Descriptions of this host and its offer, made from the options of its Node: one function for each
// part that needs them.

#include <optional>
#include <set>
#include <string>

#include "agent/gang/gang_agent.h"
#include "agent/step/node_interface.h"
#include "crdt/store/host_store.h"
#include "gossip/base/event.h"
#include "scheduler/seat/quorum_seat.h"

namespace muster::agent {

AgentIdentity identity_of(const NodeOptions& options);
Event start_event(const NodeOptions& options);
/// With GPUs that are not healthy: grants on them stay valid, and the row keeps new ones away.
Inventory inventory_of(const NodeOptions& options);
/// The number of founders of the cluster, as this host's own record says; 0 = it is no founder.
std::uint64_t founders_wanted(const NodeOptions& options);
scheduler::SeatOptions seat_options(const NodeOptions& options);
/// A message that asks a host for its copy of the row of `self`: a flood does not confirm arrival.
std::string own_row_question(HostId self);
/// The GPUs of the offer that are not well.
std::set<std::string> unwell_gpus(const NodeOptions& options, const HostGpus& gpus);
/// The field of the own row with this host's offer. A host with a shortage, or that is not well,
/// takes no new grants.
crdt::Publish capacity_field(const NodeOptions& options, const HostGpus& gpus,
                             const std::string& shortage);
/// The field of the own row with this host's identity. If `left`, the host leaves the cluster.
crdt::Publish identity_field(const NodeOptions& options, bool left);

}  // namespace muster::agent
