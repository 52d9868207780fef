#include "agent/node/leader_contact.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "agent/gang/relay/ack_proof.h"
#include "gossip/base/check.h"
#include "gossip/base/mutant.h"
#include "gossip/wire/wire.h"

namespace muster::agent {

LeaderContact::LeaderContact(const NodeOptions& options, const crdt::Records& state, Rng rng,
                             Instant now)
    : rack_(options.hardware.traits.rack),
      relays_from_hosts_(options.tuning.relays_from_hosts),
      relay_(options.self, now),
      reach_(options.self, rng),
      users_(state, rng.fork()),
      resets_(state, users_.directory()),
      certificates_(options.http_root, rng.fork()) {}

void LeaderContact::on_heard(Instant now, HostId from) {
  if (from == leader_) {
    heard_at_ = now;
  }
}

bool LeaderContact::follow(Instant now, HostId leader, Term term, bool is_speaking) {
  if (leader == leader_ && term == term_) {
    return false;
  }
  leader_ = leader;
  term_ = term;
  heard_at_ = is_speaking ? std::optional(now) : std::nullopt;
  relay_.leader_changed(now, leader);
  return true;
}

bool LeaderContact::has_heard_lately(Instant now, HostId leader) const {
  return leader == leader_ && heard_at_.has_value() && now - *heard_at_ <= kHeardLately;
}

void LeaderContact::carry_own(Instant now, const membership::Membership& membership, Nonce nonce,
                              scheduler::Renew renew) {
  relay_.carry_own(now, relay_of_rack(membership), nonce, std::move(renew));
}

bool LeaderContact::carries_for(HostId from, const membership::Membership& membership) const {
  if (!has_relays(membership) || rack_.empty()) {
    return false;
  }
  const membership::Member* member = membership.member(from);
  return member != nullptr && member->rack == rack_;
}

/// The same host for all hosts of the rack that see the same ones alive; zero = there is no relay.
HostId LeaderContact::relay_of_rack(const membership::Membership& membership) const {
  if (!has_relays(membership) || rack_.empty()) {
    return HostId();
  }
  for (const auto& [host, member] : membership.members()) {
    if (member.rack == rack_ && member.state == membership::MemberState::kAlive &&
        !member.doubled) {
      return host;
    }
  }
  return HostId();
}

bool LeaderContact::answers(Instant now, const membership::Member& member, StormMode storm) {
  using membership::Doubt;
  using membership::MemberState;
  Doubt doubt = Doubt::kGone;
  if (member.state == MemberState::kSuspect) {
    doubt = Doubt::kSuspect;
  } else if (member.state == MemberState::kAlive) {
    doubt = storm > StormMode::kDomain ? Doubt::kCut : Doubt::kNone;
  }
  reach_.doubt(now, member.host, doubt);
  return reach_.answers(member.host);
}

void LeaderContact::on_seat(Instant now, bool leads, const std::vector<HostId>& unanswered) {
  reach_.set_asking(now, leads);
  for (const HostId host : unanswered) {
    reach_.on_unanswered(now, host);
  }
}

void LeaderContact::on_agent_spoke(Instant now, HostId host, gossip::Route route) {
  agent_routes_[host] = {route, now};
}

gossip::Route LeaderContact::route_to(Instant now, HostId host, bool is_again) const {
  const auto node = agent_routes_.find(host);
  const Duration age = is_again ? kRouteFresh : kRouteKept;
  const bool will_do = node != agent_routes_.end() && now - node->second.heard_at <= age;
  return will_do ? node->second.route : gossip::Route();
}

bool is_leaders_word(const NodeOptions& own, const Roll& roll, const GangAgent& agent,
                     const scheduler::RenewAck& ack, HostId from, Nonce nonce) {
  if (from == own.self || roll.may_vote(from) || mutant(Mutant::kRelayBelieved)) {
    return true;
  }
  const std::vector<Nonce> awaited = agent.renewals_under_way();
  return std::find(awaited.begin(), awaited.end(), nonce) != awaited.end() &&
         roll.may_vote(ack.proof.leader) &&
         is_proven(ack, own.self, nonce, roll.identity_key(ack.proof.leader),
                   *own.credentials.verifier);
}

std::string proven_acks(const NodeOptions& options, const std::string& body) {
  const Result<gossip::Document> document = gossip::Document::parse(body);
  CHECK(document.has_value());
  auto message =
      scheduler::decode_agent_message(gossip::MessageType::kRelayedAcks, document->root());
  CHECK(message.has_value());
  auto& acks = std::get<scheduler::RelayedAcks>(*message);
  acks.proof =
      proof_of(acks, options.self, *options.credentials.signer, *options.credentials.verifier);
  return scheduler::encode(*message);
}

void keep_own_rack(const membership::Membership& membership, HostId relay,
                   scheduler::RelayedRenews& brought) {
  const membership::Member* carrier = membership.member(relay);
  std::erase_if(brought.renews, [&](const scheduler::RelayedRenew& each) {
    const membership::Member* owner = membership.member(each.host);
    return carrier == nullptr || owner == nullptr || owner->rack != carrier->rack;
  });
}

}  // namespace muster::agent
