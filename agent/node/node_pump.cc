// The Node's plumbing: what one machine puts out is what another takes in.

#include "agent/node/node.h"

#include <algorithm>
#include <utility>

#include "gossip/base/check.h"
#include "gossip/base/version.h"
#include "gossip/spread/overlay.h"

namespace muster::agent {
namespace {

/// Parts answer each other at most this often within one step; more is a loop between them.
constexpr int kPumpRoundsMax = 64;
/// An agent that spoke within this time is answered on its own connection. Longer, and words may
/// go into a connection that a cut has ended.
constexpr Duration kRouteFresh = std::chrono::seconds(3);
/// The other agent of a doubled id is answered this long, so that it ends as well.
constexpr Duration kDoubledLinger = std::chrono::seconds(2);

/// A suspicion is no verdict: it takes nothing away from a host, but see view_changed.
scheduler::Verdict verdict_of(const membership::Member& member) {
  switch (member.state) {
    case membership::MemberState::kAlive:
    case membership::MemberState::kSuspect:
      return scheduler::Verdict::kAlive;
    case membership::MemberState::kUnreachable:
      return member.kind == crdt::ClaimKind::kRefused ? scheduler::Verdict::kRefused
                                                      : scheduler::Verdict::kSilent;
    case membership::MemberState::kLeft:
      return scheduler::Verdict::kLeft;
  }
  return scheduler::Verdict::kAlive;
}

std::string bytes_of(const crdt::HostStore& store, HostId host, crdt::FieldId field) {
  const crdt::Field* found = store.field(host, field);
  return found == nullptr ? std::string() : found->bytes;
}

}  // namespace

void Node::pump(Instant now) {
  for (int round = 0; round < kPumpRoundsMax; ++round) {
    const bool stored = drain_store(now);
    const bool judged = drain_membership(now);
    const bool seated = drain_seat(now);
    const bool ran = drain_gang_agent(now);
    const bool carried = drain_relay(now);
    drain_id_watch(now);
    if (neighbours_stale_) {
      update_neighbours(now);
      continue;
    }
    if (!stored && !judged && !seated && !ran && !carried) {
      return;
    }
  }
  CHECK(false);
}

bool Node::drain_store(Instant now) {
  crdt::HostStore::Output output = store_.take_output();
  for (std::size_t i = 0; i < output.changes.size(); ++i) {
    // A member is made of both its identity and its observers: once for both is enough.
    const crdt::FieldChange also{output.changes[i].host, crdt::FieldId::kIdentity};
    if (i == 0 || output.changes[i - 1] != also ||
        output.changes[i].field != crdt::FieldId::kObservers) {
      row_changed(now, output.changes[i]);
    }
  }
  for (const crdt::RowsMessage& message : output.messages) {
    send(message.to, gossip::MessageType::kRows, Nonce(), message.body);
  }
  if (!output.writes.empty()) {
    output_.persists.push_back({0, crdt::Environment::kState, std::move(output.writes)});
  }
  for (Event& event : output.events) {
    emit(std::move(event));
  }
  if (output.own_identity.has_value()) {
    const auto identity = crdt::decode_identity(*output.own_identity);
    if (identity.has_value() && identity->start_id != options_.start.start_id) {
      id_watch_.seen_at(now, identity->control);
    }
  }
  if (output.raise_above.has_value()) {
    ask_raise(output.raise_above->next());
  }
  if (store_.own_version().sequence != sent_sequence_) {
    sent_sequence_ = store_.own_version().sequence;
    membership_.step(now, membership::OwnVersion{sent_sequence_});
  }
  return !output.changes.empty();
}

void Node::row_changed(Instant now, const crdt::FieldChange& change) {
  const HostId host = change.host;
  switch (change.field) {
    case crdt::FieldId::kIdentity:
    case crdt::FieldId::kObservers:
      member_changed(now, host, change.field == crdt::FieldId::kIdentity);
      return;
    case crdt::FieldId::kEvidence: {
      auto claims = crdt::decode_evidence(bytes_of(store_, host, crdt::FieldId::kEvidence));
      membership_.step(now, membership::EvidenceChanged{
                                host, std::move(claims).value_or(std::vector<crdt::Claim>())});
      return;
    }
    case crdt::FieldId::kCapacity:
      view_changed(now, host);
      return;
    case crdt::FieldId::kQuorum:
      if (const auto view =
              crdt::decode_quorum_view(bytes_of(store_, host, crdt::FieldId::kQuorum))) {
        seat_.step(now, scheduler::input::QuorumHeard{*view});
      }
      return;
  }
}

/// A member is made of its identity and its observers.
void Node::member_changed(Instant now, HostId host, bool has_new_identity) {
  const crdt::Field* field = store_.field(host, crdt::FieldId::kIdentity);
  const auto identity = crdt::decode_identity(field == nullptr ? "" : field->bytes);
  if (!identity.has_value()) {
    return;
  }
  if (has_new_identity) {
    addresses_.learn(host, *identity);
    confirmed_[host] = now;  // A new life speaks: what it says is not as old as the last one.
  }
  if (host == options_.self) {
    return;
  }
  const auto claimant = has_new_identity ? addresses_.claimant(identity->name, host) : std::nullopt;
  if (claimant.has_value()) {
    emit(Severity::kAlarm, "name_claimed_twice",
         {{"name", identity->name}, {"host", host.short_hex()}, {"other", claimant->short_hex()}});
  }
  membership::MemberChanged member;
  member.host = host;
  member.start = {field->version.generation, identity->start_id};
  member.rack = identity->rack;
  member.left = identity->left;
  const crdt::Field* observers = store_.field(host, crdt::FieldId::kObservers);
  if (observers != nullptr) {
    member.observers = crdt::decode_observers(observers->bytes).value_or(std::vector<HostId>());
  }
  membership_.step(now, std::move(member));
  neighbours_stale_ = true;
  if (has_new_identity) {
    tell_seeds(now);
  }
}

/// The first quorum is founded by seeds: it must hear which hosts they are.
void Node::tell_seeds(Instant now) {
  std::vector<scheduler::FirstQuorum::Seed> known;
  for (const gossip::Endpoint& seed : options_.seeds) {
    if (seed == options_.control) {
      known.push_back({options_.self, !cluster_.is_zero()});
    } else if (const auto host = addresses_.at(seed)) {
      known.push_back({*host, !cluster_.is_zero()});
    }
  }
  if (options_.seeds.empty() && options_.bootstrap_expect == 1) {
    known.push_back({options_.self, !cluster_.is_zero()});
  }
  seat_.step(now, scheduler::FirstQuorum::SeedsKnown{std::move(known)});
}

bool Node::drain_membership(Instant now) {
  membership::Membership::Output output = membership_.take_output();
  for (const HostId host : output.drop_links) {
    if (const auto endpoint = addresses_.control(host)) {
      output_.transport.push_back(gossip::DropLink{*endpoint});
    }
  }
  for (const membership::Outgoing& message : output.messages) {
    send(message.to, membership::type_of(message.body), message.nonce,
         membership::encode(message.body));
  }
  if (output.evidence.has_value()) {
    store_.step(now, crdt::Publish{crdt::FieldId::kEvidence,
                                   crdt::encode_evidence(*output.evidence), true});
  }
  if (output.observers.has_value()) {
    store_.step(now, crdt::Publish{crdt::FieldId::kObservers,
                                   crdt::encode_observers(*output.observers), true});
    neighbours_stale_ = true;
  }
  for (const auto& [host, version] : output.heard) {
    store_.step(now, crdt::PeerVersion{host, version});
    note_confirmed(now, host, version);
  }
  for (const HostId host : output.changed) {
    view_changed(now, host);
    neighbours_stale_ = true;
    if (const auto* member = membership_.member(host);
        member != nullptr && member->state == membership::MemberState::kUnreachable) {
      give_up_on(host);
    }
  }
  const bool storm = membership_.storm_mode(now) != membership::StormMode::kNormal;
  if (storm != told_storm_) {
    told_storm_ = storm;
    seat_.step(now, scheduler::input::StormChanged{storm});
  }
  for (Event& event : output.events) {
    emit(std::move(event));
  }
  return output.evidence.has_value() || output.observers.has_value() || !output.heard.empty() ||
         !output.changed.empty();
}

void Node::update_neighbours(Instant now) {
  neighbours_stale_ = false;
  if (overlay_epoch_ == membership_.overlay_epoch()) {
    return;
  }
  overlay_epoch_ = membership_.overlay_epoch();
  std::vector<HostId> chosen = gossip::choose_neighbours(membership_.overlay());
  if (chosen != neighbours_) {
    neighbours_ = std::move(chosen);
    store_.step(now, crdt::NeighboursChanged{neighbours_});
  }
}

const Node::Offer& Node::offer_of(HostId host) {
  const crdt::Field* field = store_.field(host, crdt::FieldId::kCapacity);
  const crdt::RowVersion version = field == nullptr ? crdt::RowVersion() : field->version;
  Offer& offer = offers_[host];
  if (offer.version == version) {
    return offer;
  }
  offer = {version, false, {}};
  if (const auto capacity = crdt::decode_capacity(field == nullptr ? "" : field->bytes)) {
    offer.cordoned = capacity->cordoned;
    for (const crdt::Gpu& gpu : capacity->gpus) {
      if (!gpu.healthy) {
        offer.unhealthy_gpus.push_back(gpu.uuid);
      }
    }
  }
  return offer;
}

/// The leader's scheduler sees hosts as this node's membership and rows show them.
void Node::view_changed(Instant now, HostId host) {
  const membership::Member* member = membership_.member(host);
  if (member == nullptr) {
    return;
  }
  scheduler::HostView view;
  view.host = host;
  view.start = member->start;
  view.verdict = verdict_of(*member);
  // New work goes elsewhere. On the smaller side of a cut the far hosts never get further than
  // this.
  view.degraded = member->state == membership::MemberState::kSuspect || member->doubled;
  const Offer& offer = offer_of(host);
  view.cordoned = offer.cordoned;
  view.unhealthy_gpus = offer.unhealthy_gpus;
  seat_.step(now, scheduler::input::HostViewChanged{std::move(view)});
}

bool Node::drain_seat(Instant now) {
  scheduler::SeatOutput output = seat_.take_output();
  if (output.recovered.has_value()) {
    raise_epoch(now, *output.recovered);
  }
  for (scheduler::SeatSend& message : output.messages) {
    send_from_seat(now, message);
  }
  for (scheduler::SeatPersist& each : output.persists) {
    persist({PersistOwner::kSeat, each.id}, crdt::Environment::kRaft, std::move(each.writes));
  }
  for (Event& event : output.events) {
    emit(std::move(event));
  }
  for (const scheduler::SeatReply& reply : output.replies) {
    finish_client(reply);
  }
  for (const std::uint64_t request : output.granted_reads) {
    answer_read(now, request, true);
  }
  for (const std::uint64_t request : output.refused_reads) {
    answer_read(now, request, false);
  }
  if (!output.halted.empty()) {
    emit(Severity::kAlarm, "halted", {{"why", output.halted}});
    output_.exit = true;
  }
  if (output.starts_anew) {
    ask_raise(options_.start.generation.next());
  }
  if (output.formed.has_value() && cluster_.is_zero()) {
    adopt_cluster(*output.formed);
  }
  if (!epoch_.is_durable()) {
    output.to_own_agent.clear();  // As from any other host: said again.
  }
  for (auto& [from, message] : output.to_own_agent) {
    gang_agent_.step(now, LeaderMessage{options_.self, from, std::move(message)});
  }
  publish_quorum(now);
  const bool asked = follow_leader(now);
  return asked || !output.to_own_agent.empty();
}

/// What a leader says to an agent goes back on the connection that the agent spoke on lately: a
/// leader of many hosts then has no link of its own to each of them.
void Node::send_from_seat(Instant now, const scheduler::SeatSend& message) {
  const auto known = agent_routes_.find(message.to);
  const bool is_fresh = known != agent_routes_.end() && known->second.route.value() != 0 &&
                        now - known->second.heard_at <= kRouteFresh;
  if (is_fresh && scheduler::is_for_agent(message.type)) {
    output_.transport.push_back(
        gossip::Reply{known->second.route,
                      gossip::encode(envelope_of(message.type, message.nonce), message.body)});
  } else {
    send(message.to, message.type, message.nonce, message.body);
  }
}

/// Voters tell everyone who votes and who leads, when that changed.
void Node::publish_quorum(Instant now) {
  if (const auto view = seat_.take_quorum_news()) {
    store_.step(now, crdt::Publish{crdt::FieldId::kQuorum, crdt::encode(*view), true});
  }
}

/// True when questions of clients went to the new leader.
bool Node::follow_leader(Instant now) {
  const HostId leader = seat_.known_leader();
  const Term term = seat_.known_term();
  if (leader != told_leader_ || term != told_term_) {
    told_leader_ = leader;
    told_term_ = term;
    leader_heard_at_ = current_.from == leader ? std::optional(now) : std::nullopt;
    relay_.leader_changed(now, leader);
    gang_agent_.step(now, LeaderChanged{leader, term, hello_spread(membership_.members().size())});
  }
  return ask_anew(now);
}

bool Node::drain_gang_agent(Instant now) {
  GangAgentOutput output = gang_agent_.take_output();
  bool local = false;
  if (!epoch_.is_durable()) {
    output.messages.clear();  // A hello would lack what only the obeyed epoch asks for. Said again.
  }
  for (AgentSend& message : output.messages) {
    if (message.to == options_.self) {
      local = true;
      seat_.step(now, scheduler::input::AgentMessageReceived{options_.self, message.nonce,
                                                             std::move(message.message)});
    } else if (auto* renew = std::get_if<scheduler::Renew>(&message.message)) {
      relay_.carry_own(now, relay_of_rack(), message.nonce, std::move(*renew));
    } else {
      send(message.to, scheduler::type_of(message.message), message.nonce,
           scheduler::encode(message.message));
    }
  }
  for (AgentPersist& each : output.persists) {
    persist({PersistOwner::kGangAgent, each.id}, crdt::Environment::kId, std::move(each.writes));
  }
  for (SupervisorCommand& command : output.commands) {
    output_.supervisor.push_back(std::move(command));
  }
  for (Event& event : output.events) {
    emit(std::move(event));
  }
  if (output.raise_to.value() != 0) {
    id_watch_.suspect(now);
    ask_raise(output.raise_to);
  }
  return local;
}

bool Node::drain_relay(Instant now) {
  bool local = false;
  for (AgentSend& message : relay_.take_messages()) {
    if (message.to == options_.self) {
      local = true;
      to_agent(now, options_.self, message.nonce, std::move(message.message));
    } else {
      send(message.to, scheduler::type_of(message.message), message.nonce,
           scheduler::encode(message.message));
    }
  }
  return local;
}

/// The same for all hosts of the rack as long as they see the same of them alive; zero: none.
HostId Node::relay_of_rack() const {
  if (!has_relays() || options_.rack.empty()) {
    return HostId();
  }
  for (const auto& [host, member] : membership_.members()) {
    if (member.rack == options_.rack && member.state == membership::MemberState::kAlive &&
        !member.doubled) {
      return host;
    }
  }
  return HostId();
}

bool Node::is_of_own_rack(HostId host) const {
  const membership::Member* member = membership_.member(host);
  return member != nullptr && !options_.rack.empty() && member->rack == options_.rack;
}

/// A link that comes up compares all rows. Not so beyond a mesh with one that is no neighbour and
/// well: commands and renewals would cost a digest of every host a link.
bool Node::compares_rows_with(HostId host) const {
  const membership::Member* member = membership_.member(host);
  return member == nullptr || member->state != membership::MemberState::kAlive ||
         membership_.members().size() <= gossip::kMeshHostsMax ||
         std::binary_search(neighbours_.begin(), neighbours_.end(), host);
}

void Node::ask_raise(Generation to) {
  raise_to_ = std::max(raise_to_.value_or(Generation()), to);
}

/// To raise while another agent answers under this id would only make the two overtake each other.
void Node::drain_id_watch(Instant now) {
  for (const IdWatch::Say& say : id_watch_.take_says()) {
    const membership::Body body = say.type == gossip::MessageType::kAck
                                      ? membership::Body(membership::Ack())
                                      : membership::Body(membership::Probe());
    std::string bytes = gossip::encode(envelope_of(say.type, say.nonce), membership::encode(body));
    if (say.to.route.value() != 0) {
      output_.transport.push_back(gossip::Reply{say.to.route, std::move(bytes)});
    } else if (!say.to.link.is_none()) {
      output_.transport.push_back(
          gossip::Send{say.to.link, gossip::Channel::kControl, std::move(bytes)});
    }
  }
  if (id_watch_.is_doubled()) {
    if (exit_at_ == kNever && !output_.exit) {
      exit_at_ = now + kDoubledLinger;
      emit(Severity::kAlarm, "host_id_doubled",
           {{"host", options_.self.short_hex()},
            {"advice", "another agent lives under this id: both end"}});
    }
  } else if (raise_to_.has_value() && !id_watch_.is_asking() && exit_at_ == kNever) {
    output_.raise_to = raise_to_;
  }
}

gossip::Envelope Node::envelope_of(gossip::MessageType type, Nonce nonce) const {
  gossip::Envelope envelope;
  envelope.version = kProtocolVersion;
  envelope.type = type;
  envelope.cluster = cluster_;
  envelope.from = options_.self;
  envelope.generation = options_.start.generation;
  envelope.nonce = nonce;
  if (type != gossip::MessageType::kRequest && type != gossip::MessageType::kResponse) {
    gossip::set_epoch(envelope, epoch_.met());
  }
  return envelope;
}

void Node::send(HostId to, gossip::MessageType type, Nonce nonce, const std::string& body) {
  const gossip::Envelope envelope = envelope_of(type, nonce);
  // The connection a question came in on is the shortest way back, and the only one to a host
  // whose row is not known yet.
  if (to == current_.from && current_.route.value() != 0) {
    output_.transport.push_back(gossip::Reply{current_.route, gossip::encode(envelope, body)});
  } else if (const auto endpoint = addresses_.control(to)) {
    output_.transport.push_back(
        gossip::Send{*endpoint, gossip::Channel::kControl, gossip::encode(envelope, body)});
  }
}

void Node::persist(PersistRef owner, crdt::Environment environment, crdt::WriteBatch writes) {
  const std::uint64_t id = ++last_persist_;
  owner.since = now_;
  persists_.emplace(id, owner);
  output_.persists.push_back({id, environment, std::move(writes)});
}

void Node::emit(Event event) {
  recent_.add(now_, event);
  output_.events.push_back(std::move(event));
}

void Node::emit(Severity severity, std::string_view name,
                std::vector<std::pair<std::string_view, std::string>> fields) {
  emit(Event{severity, name, std::move(fields)});
}

}  // namespace muster::agent
