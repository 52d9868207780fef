#pragma once
// The ways between the agents of hosts and whoever leads, of both ends: whom this host's agent was
// told to follow and when that one last spoke; who carries the renewals of a rack; and, on the
// leader, the connection that each agent spoke on, and which doubted hosts answer it. The Node's.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/gang/gang_agent.h"
#include "agent/gang/renewal_relay.h"
#include "agent/roll/roll.h"
#include "agent/step/words.h"
#include "gossip/base/ids.h"
#include "gossip/base/time.h"
#include "gossip/wire/transport.h"
#include "membership/membership.h"
#include "membership/reach.h"
#include "scheduler/protocol/agent_messages.h"

namespace muster::agent {

/// An agent that spoke within this time is answered on its own connection. Longer, and words may
/// go into a connection that a cut has ended.
inline constexpr Duration kRouteFresh = std::chrono::seconds(3);
/// So long what is said for the first time goes there nevertheless: the connection most likely
/// stands, and a link to each of ten thousand hosts is a handshake, a descriptor and a place among
/// the links each. Lost, it is said again on a link. Below ZmqTransport's kLinkIdleMax, after which
/// the agent closes it.
inline constexpr Duration kRouteKept = std::chrono::seconds(50);
/// Whom this host heard within so long, it can reach. Longer: a leader that is gone is asked.
inline constexpr Duration kHeardLately = std::chrono::seconds(1);

class LeaderContact {
 public:
  LeaderContact(const NodeOptions& options, Rng rng, Instant now);

  /// A message of this host came in.
  void on_heard(Instant now, HostId from);
  /// Who leads now, or in another term; `is_speaking`: a message of it is being carried on. True
  /// when that is news, which the agent must hear.
  bool follow(Instant now, HostId leader, Term term, bool is_speaking);
  /// A leader that speaks to this host can be asked, whatever the verdict about it says: after a
  /// fault it takes seconds to be refuted.
  bool has_heard_lately(Instant now, HostId leader) const;

  /// A renewal of this host, by way of the relay of its rack. Precondition: somebody else is known
  /// to lead.
  void carry_own(Instant now, const membership::Membership& membership, Nonce nonce,
                 scheduler::Renew renew);
  /// Whether this host carries renewals of `from`, when it does not lead itself.
  bool carries_for(HostId from, const membership::Membership& membership) const;
  RenewalRelay& relay() { return relay_; }
  /// Which hosts answer this one, while it leads.
  membership::Reach& reach() { return reach_; }
  const membership::Reach& reach() const { return reach_; }
  /// What membership says of a host, which may make it one to ask; whether it answers.
  bool answers(Instant now, const membership::Member& member, StormMode storm);
  /// What the seat says: whether this host leads, and who left the leader without an answer.
  void on_seat(Instant now, bool leads, const std::vector<HostId>& unanswered);
  const RenewalRelay& relay() const { return relay_; }

  /// This leader heard the agent of a host.
  void on_agent_spoke(Instant now, HostId host, gossip::Route route);
  /// The connection that a host's agent spoke on lately: a leader of many hosts has no link of its
  /// own to each of them then. 0 = none. `is_again`: what is to be said was said before.
  gossip::Route route_to(Instant now, HostId host, bool is_again) const;
  /// That connection is over.
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
  HostId leader_;                  ///< As last told.
  Term term_;
  std::optional<Instant> heard_at_;  ///< Its last message to this host, if any.
  RenewalRelay relay_;
  membership::Reach reach_;
  std::map<HostId, AgentRoute> agent_routes_;
};

/// Whether a host's ack is the leader's word: of one that may vote, or signed by one for a relay.
/// `agent`: the one that waits for it.
bool is_leaders_word(const NodeOptions& own, const Roll& roll, const GangAgent& agent,
                     const scheduler::RenewAck& ack, HostId from, Nonce nonce);
/// The seat's words to a relay, signed by this host.
std::string proven_acks(const NodeOptions& options, const std::string& body);
/// A relay carries for its own rack: what it brought for others is left out.
void keep_own_rack(const membership::Membership& membership, HostId relay,
                   scheduler::RelayedRenews& brought);

}  // namespace muster::agent
