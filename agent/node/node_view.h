#pragma once
// NodeView gives the answers to clients a read-only view of the parts of the Node, for one call.

#include <string>
#include <vector>

#include "agent/front/event_ring.h"
#include "agent/gang/gang_agent.h"
#include "agent/health/host_gpus.h"
#include "agent/node/leader_contact.h"
#include "agent/roll/authority_book.h"
#include "agent/roll/host_directory.h"
#include "agent/roll/message_gate.h"
#include "agent/roll/roll.h"
#include "agent/step/node_interface.h"
#include "agent/step/reachable.h"
#include "crdt/store/host_store.h"
#include "gossip/base/ids.h"
#include "gossip/base/time.h"
#include "gossip/base/wall_clock.h"
#include "membership/membership.h"
#include "scheduler/seat/quorum_seat.h"

namespace muster::agent {

struct NodeView {
  Instant now;
  ClusterId cluster;  ///< Zero = this node has no cluster yet.
  const NodeOptions& options;
  const membership::Membership& membership;
  const crdt::HostStore& store;
  const scheduler::QuorumSeat& seat;
  const GangAgent& gang_agent;
  const HostGpus& gpus;
  const HostDirectory& hosts;
  const std::vector<HostId>& neighbours;
  const LeaderContact& contact;
  const MessageGate& message_gate;
  const Roll& roll;
  const AuthorityBook& authority;
  const EventRing& recent;
  const WallClock& wall_clock;
};

/// The users by the log if this host has it, else by the last copy, else by what it has of the log.
const scheduler::Directory& directory_of(const NodeView& node);
/// The latest that the cluster time can be: access tokens end by it.
Duration cluster_time_of(const NodeView& node);
/// The host with this name, a reachable one first; zero if this node knows no such host.
HostId host_named(const NodeView& node, const std::string& name);
/// True if the leader is reachable, or spoke to this host lately.
bool is_leader_reachable(const NodeView& node, HostId leader);
/// The number of voters, `without` left out, that this node takes for able to vote.
std::size_t live_voters(const NodeView& node, const crdt::QuorumView& quorum,
                        HostId without = HostId());
/// The number of these voters that may still fail without an end of the majority.
std::size_t failures_tolerated(const NodeView& node, const crdt::QuorumView& quorum);

}  // namespace muster::agent
