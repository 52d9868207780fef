#include "agent/node/own_keys.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "agent/gang/ack_proof.h"
#include "agent/node/known.h"
#include "agent/node/own_words.h"
#include "gossip/base/check.h"
#include "gossip/base/mutant.h"
#include "gossip/wire/wire.h"

namespace muster::agent {

Instant OwnKeys::next_deadline(bool votes) const {
  return std::min(rotation_.next_deadline(),
                  votes && rotation_.was_changed() ? absent_.next_deadline() : kNever);
}

std::vector<crdt::RowsMessage> OwnKeys::tick(const Known& known, PendingWrites& writes,
                                             Outbox& outbox) {
  std::vector<crdt::RowsMessage> messages;
  if (rotation_.next_deadline() <= known.now) {
    for (const HostId host : rotation_.tick(known.now, audience_of(known), writes, outbox)) {
      messages.push_back({host, own_row_question(self_)});
    }
  }
  if (known.seat.is_voter() && rotation_.was_changed() && absent_.next_deadline() <= known.now) {
    if (const HostId host = absent_.next(known.now, known.membership); !host.is_zero()) {
      messages.push_back({host, known.store.introduction()});
    }
  }
  return messages;
}

Audience audience_of(const Known& known) {
  Audience audience;
  audience.voters = known.seat.known_quorum().voters;
  audience.peers = {known.neighbours.begin(), known.neighbours.end()};
  audience.peers.insert(audience.voters.begin(), audience.voters.end());
  if (const crdt::Field* watched =
          known.store.field(known.options.self, crdt::FieldId::kObservers)) {
    const auto observers = crdt::decode_observers(watched->bytes).value_or(std::vector<HostId>());
    audience.peers.insert(observers.begin(), observers.end());
  }
  std::erase_if(audience.peers, [&](HostId host) { return !is_reachable(known.membership, host); });
  return audience;
}

bool is_leaders_word(const Known& known, const scheduler::RenewAck& ack, HostId from, Nonce nonce) {
  const Roll& roll = known.admission.roll();
  if (from == known.options.self || roll.may_vote(from) || mutant(Mutant::kRelayBelieved)) {
    return true;
  }
  const std::vector<Nonce> awaited = known.gang_agent.renewals_under_way();
  return std::find(awaited.begin(), awaited.end(), nonce) != awaited.end() &&
         roll.may_vote(ack.proof.leader) &&
         is_proven(ack, known.options.self, nonce, roll.identity_key(ack.proof.leader),
                   *known.options.credentials.verifier);
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
