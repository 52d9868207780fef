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

Instant OwnKeys::next_deadline(bool leads) const {
  return std::min(rotation_.next_deadline(),
                  leads && rotation_.was_changed() ? absent_.next_deadline() : kNever);
}

std::vector<crdt::RowsMessage> OwnKeys::tick(Instant now, bool leads,
                                             const membership::Membership& membership,
                                             const crdt::HostStore& store, PendingWrites& writes,
                                             Outbox& outbox) {
  std::vector<crdt::RowsMessage> messages;
  if (rotation_.next_deadline() <= now) {
    for (const HostId host : rotation_.tick(now, writes, outbox)) {
      messages.push_back({host, own_row_question(self_)});
    }
  }
  if (leads && rotation_.was_changed() && absent_.next_deadline() <= now) {
    if (const HostId host = absent_.next(now, membership); !host.is_zero()) {
      messages.push_back({host, store.introduction()});
    }
  }
  return messages;
}

std::set<HostId> peers_to_tell(const Known& known) {
  const crdt::QuorumView quorum = known.seat.known_quorum();
  std::set<HostId> peers(known.neighbours.begin(), known.neighbours.end());
  peers.insert(quorum.voters.begin(), quorum.voters.end());
  if (const crdt::Field* watched =
          known.store.field(known.options.self, crdt::FieldId::kObservers)) {
    const auto observers =
        crdt::decode_observers(watched->bytes).value_or(std::vector<HostId>());
    peers.insert(observers.begin(), observers.end());
  }
  std::erase_if(peers, [&](HostId host) { return !is_reachable(known.membership, host); });
  return peers;
}

bool is_leaders_word(const Known& known, const scheduler::RenewAck& ack, HostId from,
                     Nonce nonce) {
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
  acks.proof = proof_of(acks, options.self, *options.credentials.signer,
                        *options.credentials.verifier);
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
