#include "agent/node/node_tables.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <variant>
#include <vector>

#include "agent/api/payload.h"
#include "agent/api/verbs.h"
#include "agent/front/user_model.h"
#include "agent/node/certifying.h"
#include "agent/node/roll_upkeep.h"
#include "agent/step/row_inputs.h"
#include "agent/step/self_description.h"
#include "crdt/rows/codec.h"
#include "scheduler/protocol/agent_messages.h"
#include "scheduler/seat/seat_messages.h"

namespace muster::agent {
namespace {

std::vector<HostId> reachable_voters(const NodeView& node) {
  std::vector<HostId> voters = node.seat.known_quorum().voters;
  std::erase_if(voters, [&](HostId voter) {
    return voter == node.options.self || !is_reachable(node.membership, voter);
  });
  return voters;
}

/// A host tells of requests that it refused, and of looks at output. Changes are in the log
/// already.
bool may_be_told(const scheduler::RequestNote& note) {
  return !note.was_done ||
         std::any_of(std::begin(verbs::kTable), std::end(verbs::kTable), [&](const VerbRow& row) {
           return row.name == note.verb && row.effect == Effect::kReads;
         });
}

}  // namespace

void Node::Waiting::show_hosts(Node& node, Instant now) {
  if (node.seat_.leads()) {
    node.seat_.step(now, upkeep_of_roll(node.reach(now).node));
  }
  node.seat_.step(now, scheduler::input::HostsSeen{
                           seen_hosts(node.membership_, node.members_.roll(), node.seat_.state())});
}

void Node::Waiting::ask_for_users(Node& node, Instant now) {
  if (const auto ask = node.contact_.users().tick(now, reachable_voters(node.reach(now).node))) {
    node.send(ask->to, gossip::MessageType::kUsersAsk, Nonce(), encode_payload(ask->query));
  }
}

void Node::Waiting::send_notes(Node& node, Instant now) {
  const RequestNotes::Batch* batch = node.front_.notes().due(now);
  if (batch == nullptr) {
    return;
  }
  scheduler::entry::NoteRequests fact{node.options_.self, node.options_.start.generation.value(),
                                      batch->number, batch->notes};
  const HostId leader = node.seat_.ready_leader();
  if (node.seat_.leads()) {
    Hearing::notes(node, now, std::move(fact));
  } else if (!leader.is_zero() && leader != node.options_.self) {
    gossip::Encoder body;
    scheduler::write(body.array(scheduler::kNoteRequestsElements), fact);
    node.send(leader, gossip::MessageType::kNotes, Nonce(), body.take());
  }
}

void Node::Waiting::change_keys(Node& node, Instant now) {
  const std::vector<HostId> voters = node.seat_.known_quorum().voters;
  const Circle circle{now,    node.membership_,         node.store_,
                      voters, node.neighbours_.hosts(), node.seat_.is_voter()};
  for (const crdt::RowsMessage& each : node.keys_.tick(circle, node.outbox_)) {
    node.send(each.to, gossip::MessageType::kRows, Nonce(), each.body);
  }
}

bool Node::Waiting::follow_notes(Node& node, Instant now) {
  RequestNotes& notes = node.front_.notes();
  const std::uint64_t sent = notes.sent();
  if (sent != 0 && node.seat_.state().audit().knows(
                       node.options_.self, {node.options_.start.generation.value(), sent})) {
    notes.acknowledged(sent);
    node.front_.on_notes_settled(node.reach(now));
  }
  const bool is_due = notes.next_deadline() <= now;
  if (is_due) {
    send_notes(node, now);
  }
  return is_due && node.seat_.leads();
}

void Node::Waiting::show_offer(Node& node, Instant now) {
  gpus::Offered offered;
  for (const crdt::Gpu& gpu : node.options_.hardware.capacity.gpus) {
    offered.uuids.push_back(gpu.uuid);
  }
  if (node.options_.hardware.are_watched) {
    node.gpus_.step(now, std::move(offered));
    node.gang_agent_.step(now, UnwellGpusChanged{unwell_gpus(node.options_, node.gpus_)});
  }
  node.store_.step(now, capacity_field(node.options_, node.gpus_, node.gang_agent_.shortage()));
}

void Node::Waiting::want_certificate(Node& node, Instant now, const CertifyArgs& wish) {
  const NodeView view = node.view(now);
  if (auto own = certified_here(view, wish)) {
    node.outbox_.certified(*std::move(own));
  } else if (auto question = node.contact_.certificates().ask(reachable_voters(view), wish)) {
    node.send(question->to, gossip::MessageType::kRequest, question->nonce, question->body);
  }
}

bool Node::Waiting::follow_gpus(Node& node, Instant now) {
  if (!node.gpus_.has_output() && !node.gpus_.waits_for_idle()) {
    return false;
  }
  if (node.gpus_.has_changed()) {
    node.gang_agent_.step(now, UnwellGpusChanged{unwell_gpus(node.options_, node.gpus_)});
  }
  if (node.gpus_.waits_for_idle()) {
    node.gpus_.step(now, gpus::Held{node.gang_agent_.held_gpus()});
  }
  gpus::Output output = node.gpus_.take_output();
  const bool is_any_clean = !output.cleaned.empty();
  if (is_any_clean) {
    node.gang_agent_.step(now, GpusCleaned{std::move(output.cleaned)});
  }
  for (gpus::Command& command : output.commands) {
    node.outbox_.command(std::move(command));
  }
  if (output.record.has_value()) {
    node.outbox_.write({WriteOwner::kNobody, 0}, crdt::Environment::kId,
                       {{std::string(kGpusKey), std::move(output.record)}});
  }
  node.outbox_.emit_all(std::move(output.events));
  if (output.has_changed) {
    node.store_.step(now, capacity_field(node.options_, node.gpus_, node.gang_agent_.shortage()));
  }
  return output.has_changed || is_any_clean;
}

std::span<const Node::Waiting> Node::waiting() {
  static constexpr Waiting kWaiting[] = {
      {"membership", [](const Node& node) { return node.membership_.next_deadline(); },
       [](Node& node, Instant now) { node.membership_.tick(now); }},
      {"store", [](const Node& node) { return node.store_.next_deadline(); },
       [](Node& node, Instant now) { node.store_.tick(now); }},
      {"neighbours", [](const Node& node) { return node.neighbours_.due(node.membership_); },
       [](Node& node, Instant now) {
         node.neighbours_.choose(now, node.membership_, node.store_);
       }},
      {"seat", [](const Node& node) { return node.seat_.next_deadline(); },
       [](Node& node, Instant now) { node.seat_.tick(now); }},
      // Only a leader places gangs. It has to know which disks are slow, its own included.
      {"disk",
       [](const Node& node) {
         return node.seat_.leads() ? node.outbox_.pending().next_look() : kNever;
       },
       [](Node& node, Instant now) {
         node.outbox_.pending().looked(now);
         node.seat_.step(now, scheduler::input::OwnDiskLate{});
       }},
      // A leader looks for hosts that could vote, when the seat's own deadline is over and it asks.
      {"hosts",
       [](const Node& node) {
         return node.seat_.wants_hosts(node.outbox_.now()) ? node.outbox_.now() : kNever;
       },
       Waiting::show_hosts},
      {"gang_agent", [](const Node& node) { return node.gang_agent_.next_deadline(); },
       [](Node& node, Instant now) { node.gang_agent_.tick(now); }},
      {"gpus", [](const Node& node) { return node.gpus_.next_deadline(); },
       [](Node& node, Instant now) { node.gpus_.tick(now); }},
      {"relay", [](const Node& node) { return node.contact_.relay().next_deadline(); },
       [](Node& node, Instant now) { node.contact_.relay().tick(now); }},
      {"reach", [](const Node& node) { return node.contact_.reach().next_deadline(); },
       [](Node& node, Instant now) { node.contact_.reach().tick(now); }},
      {"seeds", [](const Node& node) { return node.message_gate_.seeds().next_deadline(); },
       [](Node& node, Instant) {
         node.message_gate_.seeds().greet(
             node.envelope(gossip::MessageType::kRows, Nonce()), !node.cluster().is_zero(),
             node.membership_, node.hosts_.addresses(), node.store_, node.roll(), node.outbox_);
       }},
      {"users", [](const Node& node) { return node.contact_.users().next_deadline(); },
       Waiting::ask_for_users},
      {"notes", [](const Node& node) { return node.front_.notes().next_deadline(); },
       Waiting::send_notes},
      {"desk", [](const Node& node) { return node.front_.next_deadline(); },
       [](Node& node, Instant now) { node.front_.tick(node.reach(now)); }},
      {"goodbye", [](const Node& node) { return node.departure_.ask_at(); },
       [](Node& node, Instant now) {
         for (const HostId host : node.departure_.ask(now)) {
           node.send(host, gossip::MessageType::kRows, Nonce(),
                     own_row_question(node.options_.self));
         }
       }},
      {"keys", [](const Node& node) { return node.keys_.next_deadline(node.seat_.is_voter()); },
       Waiting::change_keys},
      {"id_watch", [](const Node& node) { return node.departure_.ids().next_deadline(); },
       [](Node& node, Instant now) { node.departure_.ids().tick(now); }},
      {"exit",
       [](const Node& node) {
         return node.departure_.exit_at(node.outbox_.now(), node.seat_.leads());
       },
       [](Node& node, Instant) {
         node.outbox_.exit(node.departure_.ids().is_doubled());
         node.departure_.exited();
       }},
  };
  return kWaiting;
}

std::string Node::deadlines_text() const {
  const Instant now = outbox_.now();
  std::string text;
  for (const Waiting& part : waiting()) {
    const Instant deadline = part.deadline(*this);
    text += std::string(part.name) + "=" +
            (deadline == kNever ? "never" : std::to_string((deadline - now).count())) + " ";
  }
  return text + seat_.deadlines_text(now);
}

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
      {Owner::kUsers, &Hearing::users},
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
  return node.members_.on_rows(now, message.envelope().from, message.body(), node.departure_,
                               node.store_, node.outbox_);
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

bool Node::Hearing::users(Node& node, Instant now, const gossip::Message& message,
                          const gossip::Received&) {
  const gossip::Envelope& envelope = message.envelope();
  if (envelope.type == gossip::MessageType::kUsersAsk) {
    const auto query = read_payload<UsersQuery>(message.body());
    if (query.has_value() && node.seat_.knows_state()) {
      node.send(envelope.from, gossip::MessageType::kUsersPage, Nonce(),
                encode_payload(copy_page(node.seat_.state().directory(), *query,
                                         node.seat_.state().cluster_time())));
    }
    return query.has_value();
  }
  if (envelope.type == gossip::MessageType::kNotesTaken) {
    gossip::Reader in = message.body();
    const bool is_of_this_life = in.u64() == node.options_.start.generation.value();
    const std::uint64_t number = in.u64();
    if (in.ok() && is_of_this_life) {
      node.front_.notes().acknowledged(number);
    }
    return in.ok();
  }
  if (envelope.type == gossip::MessageType::kNotes) {
    gossip::Reader in = message.body();
    auto batch = scheduler::read_note_requests(in);
    batch.host = envelope.from;
    for (scheduler::RequestNote& note : batch.notes) {
      note.by.signature.reset();  // No voter has verified it.
    }
    const bool is_sound =
        !batch.notes.empty() && std::all_of(batch.notes.begin(), batch.notes.end(), may_be_told);
    if (in.ok() && is_sound && node.seat_.leads()) {
      notes(node, now, std::move(batch));
    }
    return in.ok();
  }
  auto page = read_payload<UserList>(message.body());
  if (!page.has_value()) {
    return false;
  }
  if (auto writes = node.contact_.users().on_page(now, envelope.from, *std::move(page))) {
    node.outbox_.persist({0, crdt::Environment::kState, *std::move(writes)});
  }
  return true;
}

void Node::Hearing::notes(Node& node, Instant now, scheduler::entry::NoteRequests batch) {
  const std::uint64_t number = batch.batch;
  if (!node.seat_.state().audit().knows(batch.host, {batch.generation, number})) {
    if (node.front_.notes_pace().takes(now, batch.notes.size())) {
      node.seat_.step(now, scheduler::input::NotesMet{std::move(batch)});
    }
  } else if (batch.host == node.options_.self) {
    node.front_.notes().acknowledged(number);
  } else {
    gossip::Encoder body;
    body.array(2).u64(batch.generation).u64(number);
    node.send(batch.host, gossip::MessageType::kNotesTaken, Nonce(), body.take());
  }
}

bool Node::Hearing::clients(Node& node, Instant now, const gossip::Message& message,
                            const gossip::Received&) {
  if (auto certificate = node.contact_.certificates().on_response(message)) {
    node.outbox_.certified(*std::move(certificate));
    return true;
  }
  node.front_.on_response(node.reach(now), message);
  return true;
}

}  // namespace muster::agent
