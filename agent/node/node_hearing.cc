#include "agent/node/node_hearing.h"

#include <utility>
#include <variant>

#include "scheduler/protocol/agent_messages.h"
#include "scheduler/seat/seat_messages.h"

namespace muster::agent {

const Node::Hearing* Node::hearing(gossip::Owner owner) {
  using gossip::Owner;
  static constexpr Hearing kHearing[] = {
      {Owner::kMembership, &Hearing::membership},
      {Owner::kRows, &Hearing::rows},
      {Owner::kRaft, &Hearing::seat},
      {Owner::kFirstQuorum, &Hearing::seat},
      {Owner::kLeader, &Hearing::agents},
      {Owner::kAgents, &Hearing::agents},
      {Owner::kClients, &Hearing::clients},
  };
  static_assert(has_row_for_each(kHearing, &Hearing::owner));
  return find_row(kHearing, &Hearing::owner, owner);
}

bool Node::Hearing::membership(Node& node, Instant now, const gossip::Message& message,
                               const gossip::Received& input) {
  const gossip::Envelope& envelope = message.envelope();
  auto body = membership::decode_body(envelope.type, message.body());
  if (!body.has_value()) {
    return false;
  }
  if (std::holds_alternative<membership::Ack>(*body)) {
    node.contact_.reach().on_ack(now, envelope.from, envelope.nonce);
  }
  node.membership_.step(
      now, membership::MessageReceived{envelope.from, envelope.generation, envelope.nonce,
                                       *std::move(body), input.at, input.is_answered});
  return true;
}

bool Node::Hearing::rows(Node& node, Instant now, const gossip::Message& message,
                         const gossip::Received&) {
  return node.admission_.gate().on_rows(now, message.envelope().from, message.body(),
                                        node.admission_.roll(), node.departure_, node.store_,
                                        node.outbox_);
}

bool Node::Hearing::seat(Node& node, Instant now, const gossip::Message& message,
                         const gossip::Received&) {
  const gossip::Envelope& envelope = message.envelope();
  auto body = scheduler::decode_seat_message(envelope.type, message.body());
  if (!body.has_value() || !node.seat_.hears(*body)) {
    return false;
  }
  node.seat_.step(now, scheduler::input::MessageReceived{envelope.from, *std::move(body)});
  return true;
}

bool Node::Hearing::agents(Node& node, Instant now, const gossip::Message& message,
                           const gossip::Received&) {
  const gossip::Envelope& envelope = message.envelope();
  auto body = scheduler::decode_agent_message(envelope.type, message.body());
  return body.has_value() && said(node, now, envelope.from, envelope.nonce, *std::move(body));
}

bool Node::Hearing::said(Node& node, Instant now, HostId from, Nonce nonce,
                         scheduler::AgentMessage message) {
  if (const auto* ack = std::get_if<scheduler::RenewAck>(&message)) {
    if (!is_leaders_word(node.options_, node.roll(), node.gang_agent_, *ack, from, nonce)) {
      return false;
    }
    node.contact_.relay().own_acked(nonce);
  }
  if (auto* brought = std::get_if<scheduler::RelayedRenews>(&message)) {
    keep_own_rack(node.membership_, from, *brought);
  }
  auto* renew = std::get_if<scheduler::Renew>(&message);
  if (auto* acks = std::get_if<scheduler::RelayedAcks>(&message)) {
    node.contact_.relay().acked(std::move(*acks));
  } else if (scheduler::is_for_agent(scheduler::type_of(message))) {
    node.gang_agent_.step(now, LeaderMessage{from, nonce, std::move(message)});
  } else if (renew != nullptr && !node.seat_.leads() &&
             node.contact_.carries_for(from, node.membership_)) {
    node.contact_.relay().carry(now, from, nonce, std::move(*renew));
  } else {
    if (node.seat_.leads() && node.membership_.member(from) != nullptr) {
      node.contact_.on_agent_spoke(now, from, node.outbox_.route());
    }
    node.seat_.step(now, scheduler::input::AgentMessageReceived{from, nonce, std::move(message)});
  }
  return true;
}

bool Node::Hearing::clients(Node& node, Instant now, const gossip::Message& message,
                            const gossip::Received&) {
  node.front_.on_response(node.reach(now), message);
  return true;
}

}  // namespace muster::agent
