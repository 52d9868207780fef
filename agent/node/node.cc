#include "agent/node/node.h"

#include <algorithm>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "agent/node/node_tables.h"
#include "agent/node/roll_upkeep.h"
#include "agent/step/row_inputs.h"
#include "agent/step/self_description.h"
#include "crdt/rows/codec.h"
#include "gossip/base/check.h"
#include "gossip/base/overloaded.h"
#include "gossip/base/version.h"

namespace muster::agent {
namespace {

static_assert(StateMachine<Node>);

/// Parts answer each other at most this many times within one step; more is a loop between them.
constexpr int kPumpRoundsMax = 64;

std::string value_of(const crdt::Records& records, std::string_view key) {
  const auto found = records.find(std::string(key));
  return found == records.end() ? std::string() : found->second;
}

}  // namespace

Node::Node(NodeOptions options, const Recovered& recovered, Rng rng, Instant now)
    : options_(std::move(options)),
      message_gate_(options_, recovered.id, now),
      members_(options_, recovered.id),
      keys_(options_.self, options_.credentials, recovered.id),
      membership_(options_.self, options_.start, options_.hardware.traits.rack, rng.fork(), now),
      store_(options_.self, options_.start.generation, recovered.state, rng.fork(),
             options_.credentials.signer),
      seat_(seat_options(options_), recovered.raft, rng.fork(), now),
      gang_agent_({}, identity_of(options_), recovered.id, inventory_of(options_), rng.fork(), now),
      gpus_(now, WallClock(now, options_.unix_ms), options_.boot_id,
            value_of(recovered.id, kGpusKey)),
      front_(rng.fork(), now),
      departure_(options_.self, IdWatch(options_.addresses.control, rng.fork())),
      epochs_(recovered.id, seat_.epoch(), rng, now),
      hosts_(options_.self, now),
      contact_(options_, recovered.state, rng.fork(), now),
      outbox_(now, options_.unix_ms, recovered.state) {
  outbox_.expect_replay(seat_.log_end());
  outbox_.emit(start_event(options_));
  epochs_.begin(now, seat_, gang_agent_, outbox_);
  keys_.rotation().begin(now, store_);
  for (const auto& [host, slot] : store_.rows()) {
    for (const auto& [field, value] : slot.row.fields) {
      on_row_changed(now, {host, static_cast<crdt::FieldId>(field)});
    }
  }
  Waiting::show_offer(*this, now);
  store_.step(now, identity_field(options_, false));
  message_gate_.begin(now, options_.credentials, store_, outbox_);
  seat_.step(now, message_gate_.known_founders(members_.roll()));
  pump(now);
  members_.begin(options_.credentials, store_, outbox_);
}

void Node::tick(Instant now) {
  // A deadline that the last step set counts as late from that step on.
  const Instant due = std::clamp(next_deadline(), outbox_.now(), now);
  outbox_.begin_step(now);
  outbox_.note_late(now - due);
  for (const Waiting& part : waiting()) {
    if (part.deadline(*this) <= now) {
      part.turn(*this, now);
    }
  }
  pump(now);
}

Instant Node::next_deadline() const {
  Instant next = kNever;
  for (const Waiting& part : waiting()) {
    next = std::min(next, part.deadline(*this));
  }
  return next;
}

void Node::step(Instant now, Input input) {
  outbox_.begin_step(now);
  std::visit(
      Overloaded{
          [&](gossip::Received& each) { on_received(now, std::move(each)); },
          [&](const gossip::LinkUp& each) { on_link_up(now, each); },
          [&](const gossip::LinkDown& each) { on_link_down(now, each); },
          [&](const Persisted& each) { on_persisted(now, each); },
          [&](const Paused& each) { on_paused(now, each); },
          [&](const LeaveAsked&) { on_leave_asked(now); },
          [&](const StopAsked&) { on_stop_asked(now); },
          [&](const WallClockSet& each) {
            outbox_.set_wall_clock(each.unix_ms);
            seat_.step(now, each);
          },
          [&](const OutputRuleSet& each) { options_.clients.output = each.rule; },
          [&](const OutputRead& each) { front_.on_output_read(reach(now), each); },
          [&](const StatsRead& each) { front_.on_stats_read(reach(now), each); },
          [&](RowsChecked& each) {
            members_.on_rows_checked(now, std::move(each), seat_.known_quorum().voters, departure_,
                                     store_, outbox_);
          },
          [&](HardwareChanged& each) {
            options_.hardware.capacity = std::move(each.capacity);
            options_.hardware.traits = std::move(each.traits);
            options_.hardware.are_watched = each.are_watched;
            gang_agent_.step(now, InventoryChanged{inventory_of(options_)});
            Waiting::show_offer(*this, now);
          },
          [&](GpuFact& each) { gpus_.step(now, std::move(each.fact)); },
          [&](const CertificateWanted& each) { Waiting::want_certificate(*this, now, each.wish); },
          [&](SupervisorReport& each) {
            gang_agent_.step(now, std::move(each.fact));
            Waiting::show_offer(*this, now);
          },
      },
      input);
  pump(now);
  outbox_.end_step();
}

void Node::check_invariants() const {
  membership_.check_invariants();
  store_.check_invariants();
  seat_.check_invariants();
  gang_agent_.check_invariants();
  gpus_.check_invariants();
}

void Node::on_received(Instant now, gossip::Received input) {
  outbox_.note_late(now - std::min(now, input.at));
  Result<gossip::Message> message = gossip::decode(std::move(input.bytes));
  if (!message) {
    message_gate_.count_drop();
    return;
  }
  message->complete(input.sender.host);
  const gossip::Envelope& envelope = message->envelope();
  if (envelope.type == gossip::MessageType::kRequest) {
    const ClientFront::Heard heard = front_.on_request(reach(now), *message, input);
    if (heard == ClientFront::Heard::kCopy) {
      message_gate_.count_drop();
    } else if (heard == ClientFront::Heard::kLeave) {
      on_leave_asked(now);
    }
    return;
  }
  if (!message_gate_.lets_in(envelope, input, members_.roll(), outbox_)) {
    if (envelope.from == options_.self && envelope.version == kProtocolVersion &&
        members_.roll().allows(envelope.type, options_.self, input.sender)) {
      departure_.ids().heard(now, envelope.type, envelope.nonce, {input.route, input.link});
    }
    return;
  }
  outbox_.carry_on(envelope.from, input.route);
  contact_.on_heard(now, envelope.from);
  if (epochs_.on_received(now, envelope, members_.roll().may_vote(envelope.from), seat_, outbox_)) {
    hear(now, *message, input);
  } else {
    message_gate_.count_drop();
  }
}

void Node::hear(Instant now, const gossip::Message& message, const gossip::Received& input) {
  const gossip::MessageRow* row = gossip::find_message(message.envelope().type);
  const Hearing* part = row == nullptr ? nullptr : hearing(row->owner);
  if (part == nullptr || !part->take(*this, now, message, input)) {
    message_gate_.count_drop();
  }
}

void Node::on_link_up(Instant now, const gossip::LinkUp& input) {
  if (const auto host = hosts_.addresses().at(input.peer);
      host.has_value() && neighbours_.compares_rows_with(*host, membership_)) {
    store_.step(now, crdt::PeerUp{*host});
  }
}

void Node::on_link_down(Instant now, const gossip::LinkDown& input) {
  message_gate_.seeds().on_link_down(input);
  if (const auto host = hosts_.addresses().at(input.peer)) {
    const bool was_announced =
        input.loss != gossip::LinkLoss::kRefused && members_.roll().on_link_down(*host, outbox_);
    front_.on_host_gone(reach(now), *host);
    if (was_announced) {
      return;  // An announced end supports no claim and no doubt of a leader.
    }
    membership_.step(now, membership::LinkLost{*host, input.loss});
    if (input.loss == gossip::LinkLoss::kRefused || input.loss == gossip::LinkLoss::kReset) {
      seat_.step(now, scheduler::input::LinkReset{*host});
    }
  }
}

void Node::on_persisted(Instant now, const Persisted& input) {
  const OwnedWrite write = outbox_.pending().on_persisted(input.id);
  switch (write.owner) {
    case WriteOwner::kSeat:
      seat_.step(now, scheduler::input::Persisted{write.id});
      return;
    case WriteOwner::kGangAgent:
      gang_agent_.step(now, Persisted{write.id});
      return;
    case WriteOwner::kEpoch:
      epochs_.on_persisted(now, write.id, gang_agent_);
      return;
    case WriteOwner::kLink:
      if (keys_.rotation().on_persisted(now, write.id, store_, outbox_)) {
        contact_.forget_routes();  // Every connection ends.
        for (const auto& [host, member] : membership_.members()) {
          front_.on_host_gone(reach(now), host);
        }
      }
      return;
    case WriteOwner::kNobody:
      return;
  }
}

void Node::on_paused(Instant now, const Paused& input) {
  outbox_.emit(Severity::kWarn, "paused", {{"ms", std::to_string(to_ms(input.gap))}});
  epochs_.on_paused(now);
  membership_.step(now, membership::Paused{input.gap});
  contact_.reach().paused();
}

void Node::on_leave_asked(Instant now) {
  if (departure_.is_ending()) {
    return;
  }
  outbox_.emit(Severity::kInfo, "leaving", {});
  seat_.step(now, scheduler::input::GiveWay{});
  neighbours_.end_youth(now, membership_, store_);
  store_.step(now, identity_field(options_, true));
  gang_agent_.step(now, LeaveBegun{});
  std::set<HostId> peers(neighbours_.hosts().begin(), neighbours_.hosts().end());
  peers.insert(seat_.known_leader());
  departure_.on_leave_asked(now, std::move(peers), membership_);
}

void Node::on_stop_asked(Instant now) {
  seat_.step(now, scheduler::input::GiveWay{});
  departure_.on_stop_asked(now, seat_.is_handing_over());
}

void Node::pump(Instant now) {
  for (int round = 0; round < kPumpRoundsMax; ++round) {
    const bool stored = drain_store(now);
    const bool judged = drain_membership(now);
    const bool seated = drain_seat(now);
    const bool noted = Waiting::follow_notes(*this, now);
    const bool ran = drain_gang_agent(now);
    const bool cleaned = Waiting::follow_gpus(*this, now);
    const bool carried = drain_contact(now);
    drain_id_watch(now);
    if (neighbours_.due(membership_) <= now) {
      neighbours_.choose(now, membership_, store_);
      continue;
    }
    if (!stored && !judged && !seated && !noted && !ran && !cleaned && !carried) {
      store_.be_late(outbox_.lag());
      membership_.be_late(outbox_.lag());
      if (outbox_.is_reflex_news({store_.own_version().sequence, membership_.overlay_epoch(),
                                  cluster(), epochs_.met()})) {
        outbox_.tell_reflex({envelope(gossip::MessageType::kAck, Nonce()), cluster(), options_.self,
                             store_.own_version().sequence, membership_.observers(),
                             membership_.trusted_observers()});
      }
      return;
    }
  }
  CHECK(false);
}

bool Node::drain_store(Instant now) {
  crdt::HostStore::Output output = store_.take_output();
  for (std::size_t i = 0; i < output.changes.size(); ++i) {
    if (i == 0 || !are_one_member(output.changes[i - 1], output.changes[i])) {
      on_row_changed(now, output.changes[i]);
    }
  }
  for (const crdt::RowsMessage& message : output.messages) {
    send(message.to, gossip::MessageType::kRows, Nonce(), message.body);
  }
  if (!output.writes.empty()) {
    outbox_.persist({0, crdt::Environment::kState, std::move(output.writes)});
  }
  outbox_.emit_all(std::move(output.events));
  keys_.rotation().on_seen(output.own_link_seen);
  if (output.own_identity.has_value()) {
    departure_.ids().seen(now, *output.own_identity, options_.start.start_id);
  }
  if (output.raise_above.has_value()) {
    departure_.on_raise_asked(output.raise_above->next());
  }
  const Sequence own = store_.own_version().sequence;
  if (hosts_.is_own_news(own)) {
    membership_.step(now, membership::OwnVersion{own});
  }
  return !output.changes.empty();
}

void Node::on_row_changed(Instant now, const crdt::FieldChange& change) {
  const HostId host = change.host;
  switch (change.field) {
    case crdt::FieldId::kIdentity:
    case crdt::FieldId::kObservers:
      on_member_changed(now, host, change.field == crdt::FieldId::kIdentity);
      return;
    case crdt::FieldId::kEvidence:
      membership_.step(now, evidence_in(store_, host));
      return;
    case crdt::FieldId::kCapacity:
      on_view_changed(now, host);
      return;
    case crdt::FieldId::kLink:
      if (members_.roll().follow(host, store_, outbox_)) {
        contact_.forget_route(host);
      }
      return;
    case crdt::FieldId::kAuthority:
      if (const auto view = authority_view_in(store_, host);
          view.has_value() && members_.roll().may_vote(host)) {
        members_.hear_authority(*view, store_, outbox_);
      }
      return;
    case crdt::FieldId::kRoll:
      members_.roll().follow(host, store_, outbox_);
      if (const auto record = members_.roll().record(host); host == options_.self && record) {
        keys_.rotation().on_record(*record, outbox_);
      }
      seat_.step(now, message_gate_.known_founders(members_.roll()));
      on_view_changed(now, host);
      [[fallthrough]];
    case crdt::FieldId::kQuorum:
      epochs_.on_row(now, host, store_, members_.roll(), seat_, outbox_);
      contact_.users().hear(now, seat_.known_quorum().users, membership_.members().size());
      return;
  }
}

void Node::on_member_changed(Instant now, HostId host, bool has_new_identity) {
  const auto identity = identity_in(store_, host);
  if (!identity.has_value()) {
    return;
  }
  if (has_new_identity) {
    members_.roll().follow(host, store_, outbox_);
    hosts_.on_identity(host, *identity, outbox_);
  }
  if (host != options_.self) {
    membership_.step(now, member_in(store_, host, *identity));
  }
}

/// The scheduler of a leader sees hosts as the membership and rows of its node show them.
void Node::on_view_changed(Instant now, HostId host) {
  if (const membership::Member* member = membership_.member(host)) {
    const bool answers = contact_.answers(now, *member, membership_.storm().mode);
    auto view = hosts_.view_of(*member, answers, members_.roll(), store_);
    if (scheduler::is_unreachable(view.verdict)) {
      front_.on_host_gone(reach(now), host);
    }
    seat_.step(now, scheduler::input::HostViewChanged{std::move(view)});
  }
}

bool Node::drain_membership(Instant now) {
  membership::Membership::Output output = membership_.take_output();
  outbox_.drop_links(output.drop_links, hosts_.addresses());
  for (const membership::Outgoing& message : output.messages) {
    send(message.to, membership::type_of(message.body), message.nonce,
         membership::encode(message.body));
  }
  for (crdt::Publish& news : news_of(output)) {
    store_.step(now, std::move(news));
  }
  for (const auto& [host, version] : output.heard) {
    store_.step(now, crdt::PeerVersion{host, version});
    hosts_.on_version_heard(now, host, version, store_);
  }
  for (const HostId host : output.changed) {
    on_view_changed(now, host);
  }
  const StormMode storm = membership_.storm().mode;
  if (hosts_.is_storm_news(storm)) {
    seat_.step(now, scheduler::input::StormChanged{storm});
    for (const auto& [host, member] : membership_.members()) {
      on_view_changed(now, host);
    }
  }
  outbox_.emit_all(std::move(output.events));
  return output.evidence.has_value() || output.observers.has_value() || !output.heard.empty() ||
         !output.changed.empty();
}

bool Node::drain_seat(Instant now) {
  scheduler::SeatOutput output = seat_.take_output();
  if (output.fate.recovered.has_value()) {
    epochs_.on_met(now, *output.fate.recovered, seat_, outbox_);
  }
  for (scheduler::SeatSend& message : output.messages) {
    send_from_seat(now, message);
  }
  for (scheduler::SeatPersist& each : output.persists) {
    outbox_.write({WriteOwner::kSeat, each.id}, crdt::Environment::kRaft, std::move(each.writes));
  }
  outbox_.emit_all(std::move(output.events));
  members_.follow_log(now, output.roll, seat_.state().roll(), store_, outbox_);
  if (!output.answers.is_empty()) {
    front_.on_seat_answers(reach(now), output.answers);
  }
  if (!output.fate.halted.empty()) {
    outbox_.emit(Severity::kAlarm, "halted", {{"why", output.fate.halted}});
    outbox_.exit(false);
  }
  if (output.fate.must_restart) {
    departure_.on_raise_asked(options_.start.generation.next());
  }
  if (output.fate.formed.has_value() && cluster().is_zero()) {
    message_gate_.join(*output.fate.formed, outbox_);
  }
  if (!epochs_.is_durable()) {
    output.to_own_agent.clear();  // Dropped as messages of other hosts are: the seat repeats them.
  }
  for (auto& [from, message] : output.to_own_agent) {
    gang_agent_.step(now, LeaderMessage{options_.self, from, std::move(message)});
  }
  if (const auto view = seat_.take_quorum_news()) {
    store_.step(now, crdt::Publish{crdt::FieldId::kQuorum, crdt::encode(*view), true});
  }
  contact_.on_seat(now, seat_.leads(), output.unanswered);
  const HostId leader = seat_.known_leader();
  if (contact_.follow(now, leader, seat_.known_term(), outbox_.from() == leader)) {
    gang_agent_.step(
        now, LeaderChanged{leader, seat_.known_term(), hello_spread(membership_.members().size())});
  }
  const bool asked =
      front_.is_leader_news(seat_.ready_leader()) && front_.on_leader_ready(reach(now));
  return asked || !output.to_own_agent.empty() || !output.roll.enrolled.empty();
}

/// A leader's message to an agent or a relay goes back on the connection on which that one spoke.
void Node::send_from_seat(Instant now, const scheduler::SeatSend& message) {
  std::string proven;
  std::string_view body = message.body;
  if (message.type == gossip::MessageType::kRelayedAcks) {
    proven = proven_acks(options_, message.body);
    body = proven;
  }
  const gossip::Route route = scheduler::is_for_agent(message.type)
                                  ? contact_.route_to(now, message.to, message.is_again)
                                  : gossip::Route();
  if (route.value() != 0) {
    outbox_.reply(route, gossip::encode(envelope(message.type, message.nonce), body));
  } else {
    send(message.to, message.type, message.nonce, body);
  }
}

void Node::say(const AgentSend& word) {
  send(word.to, scheduler::type_of(word.message), word.nonce, scheduler::encode(word.message));
}

bool Node::drain_gang_agent(Instant now) {
  GangAgentOutput output = gang_agent_.take_output();
  bool local = false;
  if (!epochs_.is_durable()) {
    output.messages.clear();  // A hello would lack the details for the new epoch. It is repeated.
  }
  for (AgentSend& message : output.messages) {
    if (message.to == options_.self) {
      local = true;
      seat_.step(now, scheduler::input::AgentMessageReceived{options_.self, message.nonce,
                                                             std::move(message.message)});
    } else if (auto* renew = std::get_if<scheduler::Renew>(&message.message)) {
      contact_.carry_own(now, membership_, message.nonce, std::move(*renew));
    } else {
      say(message);
    }
  }
  for (AgentPersist& each : output.persists) {
    outbox_.write({WriteOwner::kGangAgent, each.id}, crdt::Environment::kId,
                  std::move(each.writes));
  }
  for (SupervisorCommand& command : output.commands) {
    outbox_.command(std::move(command));
  }
  for (scheduler::GpuOrder& order : output.gpu_orders) {
    gpus_.step(now, gpus::Ordered{std::move(order)});
  }
  for (GpuToClean& gpu : output.to_clean) {
    gpus_.step(now, gpus::ToClean{std::move(gpu.uuid), gpu.token});
  }
  outbox_.emit_all(std::move(output.events));
  if (!output.ends.empty()) {
    outbox_.emit(Severity::kAlarm, "start_refused", {{"why", output.ends}});
    outbox_.exit_refused(output.ends);
  }
  if (output.raise_to.value() != 0) {
    departure_.ids().suspect(now);
    departure_.on_raise_asked(output.raise_to);
  }
  return local;
}

bool Node::drain_contact(Instant now) {
  membership::Reach::Output reach = contact_.reach().take_output();
  outbox_.drop_links(reach.drop_links, hosts_.addresses());
  for (const HostId host : reach.drop_links) {
    contact_.forget_route(host);
  }
  for (const auto& [host, nonce] : reach.asks) {
    send(host, gossip::MessageType::kProbe, nonce, membership::encode(membership::Probe{}));
  }
  for (const HostId host : reach.changed) {
    on_view_changed(now, host);
  }
  if (auto news = contact_.resets().look(directory_of(this->reach(now).node))) {
    outbox_.persist({0, crdt::Environment::kState, std::move(news->writes)});
    if (news->alarm.has_value()) {
      outbox_.emit(*std::move(news->alarm));
    }
  }
  bool local = !reach.changed.empty();
  for (AgentSend& message : contact_.relay().take_messages()) {
    if (message.to == options_.self) {
      local = true;
      if (!Hearing::said(*this, now, options_.self, message.nonce, std::move(message.message))) {
        message_gate_.count_drop();
      }
    } else {
      say(message);
    }
  }
  return local;
}

void Node::drain_id_watch(Instant now) {
  for (const IdWatch::Say& say : departure_.ids().take_says()) {
    outbox_.send_back(say.to.route, say.to.link, keys_.rotation().link_key(),
                      gossip::encode(envelope(say.type, say.nonce), body_of(say)));
  }
  departure_.on_id_watched(now, outbox_);
}

NodeView Node::view(Instant now) const {
  return {now,
          cluster(),
          options_,
          membership_,
          store_,
          seat_,
          gang_agent_,
          gpus_,
          hosts_,
          neighbours_.hosts(),
          contact_,
          message_gate_,
          members_.roll(),
          members_.authority(),
          outbox_.recent(),
          outbox_.wall_clock()};
}

RequestReach Node::reach(Instant now) {
  return {{{view(now), outbox_}, seat_}, epochs_, {message_gate_.founding(), store_}};
}

/// A message names the cluster only if its receiver may not have one yet. It does not name its
/// sender: the connection proves that.
gossip::Envelope Node::envelope(gossip::MessageType type, Nonce nonce) const {
  gossip::Envelope envelope =
      envelope_of(options_, names_cluster(type) ? cluster() : ClusterId(), type, nonce);
  envelope.from = {};
  gossip::set_epoch(envelope, epochs_.met());
  return envelope;
}

void Node::send(HostId to, gossip::MessageType type, Nonce nonce, std::string_view body) {
  outbox_.send(to, hosts_.addresses(), envelope(type, nonce), body);
}

}  // namespace muster::agent
