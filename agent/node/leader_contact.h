#pragma once
// LeaderContact holds the ways between agents and their leader, for both ends. On every host: the
// leader that its agent follows, the time of that leader's last message, the relay of its rack, and
// the copy of the list of users, which the leader's row leads to, with the last reset of the
// administrators.
// On the leader: the connection of each agent, and which doubted hosts answer it. Owned by Node.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/front/directory_copy.h"
#include "agent/front/reset_watch.h"
#include "agent/gang/gang_agent.h"
#include "agent/gang/relay/renewal_relay.h"
#include "agent/node/certificate_seeker.h"
#include "agent/roll/roll.h"
#include "agent/step/node_interface.h"
#include "gossip/base/ids.h"
#include "gossip/base/time.h"
#include "gossip/wire/transport.h"
#include "membership/membership.h"
#include "membership/reach.h"
#include "scheduler/protocol/agent_messages.h"

namespace muster::agent {

/// The leader answers an agent on its own connection if the agent spoke within this time. Higher: a
/// message may go into a connection that a cut has ended.
inline constexpr Duration kRouteFresh = std::chrono::seconds(3);
/// For this time the first copy of a message goes there nevertheless. The connection most likely
/// stands, and a link costs a handshake, a descriptor and a place among the links, for each of ten
/// thousand hosts. A lost message is repeated on a link. The time is below ZmqTransport's
/// kLinkIdleMax, after which the agent closes the connection.
inline constexpr Duration kRouteKept = std::chrono::seconds(50);
/// A leader counts as reachable if this host heard it within this time. Higher: this host asks a
/// leader that is gone.
inline constexpr Duration kHeardLately = std::chrono::seconds(1);

class LeaderContact {
 public:
  /// `state`: the environment kState at the start.
  LeaderContact(const NodeOptions& options, const crdt::Records& state, Rng rng, Instant now);

  /// A message of `from` came in.
  void on_heard(Instant now, HostId from);
  /// `leader` leads in `term`. `is_speaking`: the Node handles a message of it in this step. True
  /// if that is news, which the agent must hear.
  bool follow(Instant now, HostId leader, Term term, bool is_speaking);
  /// True if `leader` spoke to this host lately. Then it can be asked, even against a verdict:
  /// after a fault a verdict is refuted only after seconds.
  bool has_heard_lately(Instant now, HostId leader) const;

  /// Sends a renewal of this host by way of the relay of its rack. Precondition: another host is
  /// known to lead.
  void carry_own(Instant now, const membership::Membership& membership, Nonce nonce,
                 scheduler::Renew renew);
  /// True if this host carries renewals of `from` while it does not lead itself.
  bool carries_for(HostId from, const membership::Membership& membership) const;
  RenewalRelay& relay() { return relay_; }
  /// The hosts that answer this one while it leads.
  membership::Reach& reach() { return reach_; }
  const membership::Reach& reach() const { return reach_; }
  /// Takes membership's view of a host, which may cause a question to it. True if it answers.
  bool answers(Instant now, const membership::Member& member, StormMode storm);
  /// Takes the seat's news: `leads` is true if this host leads, and `unanswered` hosts did not
  /// answer the leader.
  void on_seat(Instant now, bool leads, const std::vector<HostId>& unanswered);
  const RenewalRelay& relay() const { return relay_; }
  DirectoryCopy& users() { return users_; }
  const DirectoryCopy& users() const { return users_; }
  ResetWatch& resets() { return resets_; }
  /// The questions of this host for its certificate of HTTPS.
  CertificateSeeker& certificates() { return certificates_; }
  const CertificateSeeker& certificates() const { return certificates_; }

  /// The agent of a host spoke to this leader.
  void on_agent_spoke(Instant now, HostId host, gossip::Route route);
  /// The connection on which a host's agent spoke lately; 0 = there is no such connection. With it
  /// a leader of many hosts needs no link of its own to each. `is_again`: the message is a repeat.
  gossip::Route route_to(Instant now, HostId host, bool is_again) const;
  /// The connection of that host ended.
  void forget_route(HostId host) { agent_routes_.erase(host); }
  void forget_routes() { agent_routes_.clear(); }

 private:
  struct AgentRoute {
    gossip::Route route;
    Instant heard_at{};
  };
  bool has_relays(const membership::Membership& membership) const {
    return membership.members().size() >= relays_from_hosts_;
  }
  HostId relay_of_rack(const membership::Membership& membership) const;

  std::string rack_;
  std::size_t relays_from_hosts_;  ///< NodeTuning::relays_from_hosts.
  HostId leader_;                  ///< The last leader that follow() was told.
  Term term_;
  std::optional<Instant> heard_at_;  ///< The time of its last message to this host.
  RenewalRelay relay_;
  membership::Reach reach_;
  std::map<HostId, AgentRoute> agent_routes_;
  DirectoryCopy users_;
  ResetWatch resets_;
  CertificateSeeker certificates_;
};

/// True if an ack is the leader's: a host that may vote sent it, or signed it for a relay. `agent`
/// is the one that waits for it.
bool is_leaders_word(const NodeOptions& own, const Roll& roll, const GangAgent& agent,
                     const scheduler::RenewAck& ack, HostId from, Nonce nonce);
/// The seat's acks to a relay, signed by this host.
std::string proven_acks(const NodeOptions& options, const std::string& body);
/// Removes renewals of other racks: a relay carries only those of its own rack.
void keep_own_rack(const membership::Membership& membership, HostId relay,
                   scheduler::RelayedRenews& brought);

}  // namespace muster::agent
