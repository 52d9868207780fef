#pragma once
// What this node knows at a moment, as its answers to clients read it: every part of the Node that
// they look at, for one call, and to be read only.

#include <string>
#include <vector>

#include "agent/front/event_ring.h"
#include "agent/gang/gang_agent.h"
#include "agent/node/leader_contact.h"
#include "agent/roll/authority_book.h"
#include "agent/roll/host_directory.h"
#include "agent/roll/message_gate.h"
#include "agent/roll/roll.h"
#include "agent/step/reachable.h"
#include "agent/step/words.h"
#include "crdt/store/host_store.h"
#include "gossip/base/ids.h"
#include "gossip/base/time.h"
#include "gossip/base/wall_clock.h"
#include "membership/membership.h"
#include "scheduler/seat/quorum_seat.h"

namespace muster::agent {

struct Known {
  Instant now;
  ClusterId cluster;  ///< Zero: none yet.
  const NodeOptions& options;
  const membership::Membership& membership;
  const crdt::HostStore& store;
  const scheduler::QuorumSeat& seat;
  const GangAgent& gang_agent;
  const HostDirectory& hosts;
  const std::vector<HostId>& neighbours;
  const LeaderContact& contact;
  const MessageGate& message_gate;
  const Roll& roll;
  const AuthorityBook& authority;
  const EventRing& recent;
  const WallClock& wall_clock;
};

/// Who bears this name, one that is reachable before one that is not; zero: nobody known here.
HostId host_named(const Known& known, const std::string& name);
/// A leader that speaks to this host is, too.
bool is_leader_reachable(const Known& known, HostId leader);
/// The voters that this node takes for able to vote, `without` one of them.
std::size_t live_voters(const Known& known, const crdt::QuorumView& quorum,
                        HostId without = HostId());

}  // namespace muster::agent
