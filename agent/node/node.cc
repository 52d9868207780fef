#include "agent/node/node.h"

#include <algorithm>
#include <utility>

#include "agent/node/start_record.h"
#include "gossip/base/check.h"
#include "gossip/base/version.h"

namespace muster::agent {
namespace {

static_assert(StateMachine<Node>);

/// A write that waits so long says that the disk of this host is slow or hangs.
constexpr Duration kDiskLate = std::chrono::milliseconds(700);
/// Between two looks of a leader at them.
constexpr Duration kDiskLookPeriod = std::chrono::milliseconds(250);
/// A stopped leader waits so long for another to take over.
constexpr Duration kHandOverMax = std::chrono::milliseconds(700);
/// The process ends when those it talks to have the goodbye, or after this long.
constexpr Duration kLeaveLinger = std::chrono::seconds(2);
/// They are asked this often whether they have it; the last answers leave within the same time.
constexpr Duration kLeaveAskPeriod = std::chrono::milliseconds(100);

ClusterId recovered_cluster(const crdt::Records& records) {
  const auto found = records.find(std::string(kClusterKey));
  return found == records.end() ? ClusterId() : ClusterId::from_bytes(found->second);
}

AgentIdentity identity_of(const NodeOptions& options) {
  return {options.self, options.start, options.boot_id, options.name};
}

Inventory inventory_of(const NodeOptions& options) {
  const crdt::Capacity& capacity = options.capacity;
  Inventory inventory;
  inventory.has_namespaces = options.has_namespaces;
  inventory.gpu_type = capacity.gpu_type;
  inventory.cpus = capacity.cpus;
  inventory.memory_mb = capacity.memory_mb;
  for (const crdt::Gpu& gpu : capacity.gpus) {
    if (gpu.healthy) {
      inventory.gpus.push_back(gpu.uuid);
    }
  }
  return inventory;
}

scheduler::SeatOptions seat_options(const NodeOptions& options) {
  return {options.self, options.bootstrap_expect, options.seeds, options.control,
          options.compact_entries};
}

}  // namespace

Node::Node(NodeOptions options, const Recovered& recovered, Rng rng, Instant now)
    : options_(std::move(options)),
      rng_(rng),
      cluster_(recovered_cluster(recovered.id)),
      seeds_(options_.seeds, options_.control, now),
      membership_(options_.self, options_.start, options_.rack, rng_.fork(), now),
      store_(options_.self, options_.start.generation, recovered.state, rng_.fork()),
      seat_(seat_options(options_), recovered.raft, rng_.fork(), now),
      epoch_(recovered.id, seat_.epoch()),
      gang_agent_({}, identity_of(options_), recovered.id, inventory_of(options_), rng_.fork(),
                  now),
      relay_(options_.self, now),
      desk_(rng_.fork()),
      id_watch_(options_.control, rng_.fork()),
      now_(now),
      started_(now),
      awake_since_(now) {
  emit(Severity::kInfo, "agent_started",
       {{"host", options_.self.short_hex()},
        {"name", options_.name},
        {"generation", std::to_string(options_.start.generation.value())},
        {"listen", options_.control.text()}});
  begin_epochs(now);  // Rows of the quorum count when they are of the epoch that is obeyed.
  for (const auto& [host, slot] : store_.rows()) {
    for (const auto& [field, value] : slot.row.fields) {
      row_changed(now, {host, static_cast<crdt::FieldId>(field)});
    }
  }
  store_.step(now, crdt::Publish{crdt::FieldId::kCapacity, crdt::encode(options_.capacity), false});
  publish_identity(now, false);
  tell_seeds(now);
  pump(now);
}

void Node::publish_identity(Instant now, bool left) {
  crdt::Identity identity;
  identity.name = options_.name;
  identity.control = options_.control;
  identity.bulk = options_.bulk;
  identity.start_id = options_.start.start_id;
  identity.boot_id = options_.boot_id;
  identity.rack = options_.rack;
  identity.version = kProductVersion;
  identity.left = left;
  store_.step(now, crdt::Publish{crdt::FieldId::kIdentity, crdt::encode(identity), true});
}

void Node::step(Instant now, Input input) {
  CHECK(now >= now_);
  now_ = now;
  std::visit([&](auto&& each) { on(now, std::forward<decltype(each)>(each)); }, std::move(input));
  pump(now);
  current_ = {};
}

void Node::tick(Instant now) {
  CHECK(now >= now_);
  now_ = now;
  if (membership_.next_deadline() <= now) {
    membership_.tick(now);
  }
  if (store_.next_deadline() <= now) {
    store_.tick(now);
  }
  if (seat_.next_deadline() <= now) {
    seat_.tick(now);
  }
  if (disk_look_at() <= now) {
    disk_looked_at_ = now;
    seat_.step(now, scheduler::input::OwnDiskLate{});
  }
  if (seat_.wants_hosts(now)) {
    seat_.step(now, scheduler::input::HostsSeen{seen_hosts()});
  }
  if (gang_agent_.next_deadline() <= now) {
    gang_agent_.tick(now);
  }
  if (relay_.next_deadline() <= now) {
    relay_.tick(now);
  }
  if (seeds_.next_deadline() <= now) {
    greet_seeds(now);
  }
  if (desk_.next_deadline() <= now) {
    expire_questions(now);
  }
  if (ask_goodbye_at_ <= now) {
    ask_for_goodbye(now);
  }
  if (id_watch_.next_deadline() <= now) {
    id_watch_.tick(now);
  }
  if (exit_at_ <= now || (stopping_ && !seat_.leads())) {
    output_.exit = true;
    output_.doubled = id_watch_.is_doubled();
    exit_at_ = kNever;
    stopping_ = false;
  }
  pump(now);
}

Instant Node::next_deadline() const {
  if (stopping_ && !seat_.leads() && exit_at_ != kNever) {
    return now_;
  }
  return std::min({membership_.next_deadline(), store_.next_deadline(), seat_.next_deadline(),
                   gang_agent_.next_deadline(), relay_.next_deadline(), seeds_.next_deadline(),
                   desk_.next_deadline(), ask_goodbye_at_, id_watch_.next_deadline(), exit_at_,
                   disk_look_at()});
}

std::string Node::deadlines_text() const {
  const auto text = [this](std::string_view name, Instant deadline) {
    return std::string(name) + "=" +
           (deadline == kNever ? "never" : std::to_string((deadline - now_).count())) + " ";
  };
  return text("membership", membership_.next_deadline()) + text("store", store_.next_deadline()) +
         seat_.deadlines_text(now_) + text("gang_agent", gang_agent_.next_deadline()) +
         text("relay", relay_.next_deadline()) + text("seeds", seeds_.next_deadline()) +
         text("disk", disk_look_at()) + text("desk", desk_.next_deadline()) +
         text("goodbye", ask_goodbye_at_) + text("id_watch", id_watch_.next_deadline()) +
         text("exit", exit_at_);
}

Node::Output Node::take_output() {
  return std::exchange(output_, {});
}

void Node::check_invariants() const {
  membership_.check_invariants();
  store_.check_invariants();
  seat_.check_invariants();
  gang_agent_.check_invariants();
}

/// Only a leader places gangs, and wants to know which disks are slow, its own among them.
Instant Node::disk_look_at() const {
  return persists_.empty() || !seat_.leads() ? kNever
                                             : std::max(persists_.begin()->second.since + kDiskLate,
                                                        disk_looked_at_ + kDiskLookPeriod);
}

std::vector<scheduler::SeenHost> Node::seen_hosts() const {
  std::vector<scheduler::SeenHost> hosts;
  for (const auto& [host, member] : membership_.members()) {
    const bool lives = member.state == membership::MemberState::kAlive && !member.doubled;
    const bool has_left = member.state == membership::MemberState::kLeft;
    if (lives || has_left) {
      hosts.push_back({host, member.rack, has_left});
    }
  }
  return hosts;
}

void Node::greet_seeds(Instant now) {
  const auto is_met = [this](const gossip::Endpoint& seed) {
    const auto host = addresses_.at(seed);
    const membership::Member* member = host ? membership_.member(*host) : nullptr;
    return member != nullptr && member->state == membership::MemberState::kAlive;
  };
  const gossip::Envelope greeting = envelope_of(gossip::MessageType::kRows, Nonce());
  const auto due = seeds_.due(now, !cluster_.is_zero(), is_met);
  const std::string introduction = due.empty() ? "" : store_.introduction();
  for (const gossip::Endpoint& seed : due) {
    std::string body = introduction;
    if (is_met(seed)) {
      crdt::RowsBody question;  // Its own row is the shortest thing it always answers with.
      question.want = {*addresses_.at(seed)};
      body = crdt::encode(question);
    }
    output_.transport.push_back(
        gossip::Send{seed, gossip::Channel::kControl, gossip::encode(greeting, body)});
  }
  if (seeds_.take_complaint()) {
    std::string seeds;
    for (const gossip::Endpoint& seed : seeds_.all()) {
      seeds += (seeds.empty() ? "" : ",") + seed.text();
    }
    emit(Severity::kWarn, "seeds_unreachable",
         {{"seeds", seeds}, {"advice", "still trying; is any seed running?"}});
  }
}

void Node::on(Instant now, gossip::Received input) {
  Result<gossip::Message> message = gossip::decode(std::move(input.bytes));
  if (!message) {
    ++dropped_count_;
    return;
  }
  const gossip::Envelope& envelope = message->envelope();
  if (envelope.type == gossip::MessageType::kRequest) {
    on_request(now, *message, input.route);
    return;
  }
  if (!admit(envelope, input.link)) {
    ++dropped_count_;
    if (envelope.from == options_.self && envelope.version == kProtocolVersion) {
      id_watch_.heard(now, envelope.type, envelope.nonce, {input.route, input.link});
    }
    return;
  }
  current_ = {envelope.from, input.route};
  if (envelope.from == told_leader_) {
    leader_heard_at_ = now;
  }
  if (meet_epoch(now, envelope)) {
    dispatch(now, *message);
  }
}

/// Who has no cluster yet takes the id of a seed that it dialled itself, and of nobody else: anyone
/// may dial us, and a member of another cluster that has our address must not take us in.
bool Node::admit(const gossip::Envelope& envelope, const gossip::Endpoint& link) {
  std::string_view complaint;
  Severity severity = Severity::kAlarm;
  const bool founding = envelope.type == gossip::MessageType::kPropose ||
                        envelope.type == gossip::MessageType::kPromise ||
                        envelope.type == gossip::MessageType::kForm;
  if (envelope.version != kProtocolVersion) {
    complaint = "foreign_version";
  } else if (envelope.from == options_.self) {
    complaint = "own_id_elsewhere";
  } else if (envelope.from.is_zero()) {
    return false;
  } else if (!founding && !envelope.cluster.is_zero() && envelope.cluster != cluster_) {
    if (!cluster_.is_zero()) {
      complaint = "foreign_cluster";
    } else if (seeds_.is_seed(link)) {
      adopt_cluster(envelope.cluster);
    } else {
      complaint = "uninvited_cluster";
      severity = Severity::kInfo;  // A seed that founds no quorum is called by those who do.
    }
  }
  if (complaint.empty()) {
    return true;
  }
  if (complaint_about_ != envelope.from) {
    complaint_about_ = envelope.from;
    emit(severity, complaint,
         {{"host", envelope.from.short_hex()},
          {"version", std::to_string(envelope.version)},
          {"cluster", envelope.cluster.short_hex()},
          {"ours", cluster_.short_hex()}});
  }
  return false;
}

void Node::adopt_cluster(ClusterId cluster) {
  CHECK(cluster_.is_zero());
  cluster_ = cluster;
  persist({}, crdt::Environment::kId, {{std::string(kClusterKey), std::string(cluster.bytes())}});
  emit(Severity::kInfo, "joined_cluster", {{"cluster", cluster.hex()}});
}

void Node::dispatch(Instant now, const gossip::Message& message) {
  const gossip::Envelope& envelope = message.envelope();
  if (auto body = membership::decode_body(envelope.type, message.body())) {
    membership_.step(now, membership::MessageReceived{envelope.from, envelope.generation,
                                                      envelope.nonce, *std::move(body)});
    return;
  }
  if (envelope.type == gossip::MessageType::kRows) {
    if (auto body = crdt::decode_rows(message.body())) {
      note_goodbye(now, envelope.from, *body);
      store_.step(now, crdt::RowsReceived{envelope.from, *std::move(body)});
      return;
    }
  }
  if (envelope.type == gossip::MessageType::kResponse) {
    on_response(message);
    return;
  }
  if (auto body = scheduler::decode_agent_message(envelope.type, message.body())) {
    to_agent(now, envelope.from, envelope.nonce, *std::move(body));
    return;
  }
  if (auto body = scheduler::decode_seat_message(envelope.type, message.body());
      body.has_value() && seat_.hears(*body)) {
    seat_.step(now, scheduler::input::MessageReceived{envelope.from, *std::move(body)});
    return;
  }
  ++dropped_count_;
}

/// Commands go to this host's agent, reports to the leader's scheduler: one conversation, two ends.
/// Between them is who carries the renewals of its rack.
void Node::to_agent(Instant now, HostId from, Nonce nonce, scheduler::AgentMessage message) {
  const bool is_command = std::holds_alternative<scheduler::HelloReply>(message) ||
                          std::holds_alternative<scheduler::Assign>(message) ||
                          std::holds_alternative<scheduler::Start>(message) ||
                          std::holds_alternative<scheduler::Stop>(message) ||
                          std::holds_alternative<scheduler::FinishAck>(message) ||
                          std::holds_alternative<scheduler::RenewAck>(message);
  if (std::holds_alternative<scheduler::RenewAck>(message)) {
    relay_.own_acked(nonce);
  }
  auto* renew = std::get_if<scheduler::Renew>(&message);
  if (is_command) {
    gang_agent_.step(now, LeaderMessage{from, nonce, std::move(message)});
  } else if (auto* acks = std::get_if<scheduler::RelayedAcks>(&message)) {
    relay_.acked(std::move(*acks));
  } else if (renew != nullptr && !seat_.leads() && has_relays() && is_of_own_rack(from)) {
    relay_.carry(now, from, nonce, std::move(*renew));
  } else {
    if (seat_.leads() && membership_.member(from) != nullptr) {
      agent_routes_[from] = {current_.route, now};
    }
    seat_.step(now, scheduler::input::AgentMessageReceived{from, nonce, std::move(message)});
  }
}

void Node::on(Instant now, const gossip::LinkUp& input) {
  const auto host = addresses_.at(input.peer);
  if (host.has_value() && compares_rows_with(*host)) {
    store_.step(now, crdt::PeerUp{*host});
  }
}

void Node::on(Instant now, const gossip::LinkDown& input) {
  if (const auto host = addresses_.at(input.peer)) {
    membership_.step(now, membership::LinkLost{*host, input.loss});
    give_up_on(*host);
    if (input.loss != gossip::LinkLoss::kTimeout) {
      seat_.step(now, scheduler::input::LinkReset{*host});
    }
  }
}

void Node::on(Instant now, const Persisted& input) {
  const auto found = persists_.find(input.id);
  CHECK(found != persists_.end());
  const PersistRef ref = found->second;
  persists_.erase(found);
  switch (ref.owner) {
    case PersistOwner::kSeat:
      seat_.step(now, scheduler::input::Persisted{ref.id});
      return;
    case PersistOwner::kGangAgent:
      gang_agent_.step(now, Persisted{ref.id});
      return;
    case PersistOwner::kEpoch:
      epoch_persisted(now, ref.id);
      return;
    case PersistOwner::kNobody:
      return;
  }
}

void Node::on(Instant now, const Paused& input) {
  emit(Severity::kWarn, "paused", {{"ms", std::to_string(to_ms(input.gap))}});
  awake_since_ = now;
  membership_.step(now, membership::Paused{input.gap});
}

void Node::on(Instant now, const LeaveAsked&) {
  if (exit_at_ != kNever) {
    return;
  }
  emit(Severity::kInfo, "leaving", {});
  seat_.step(now, scheduler::input::GiveWay{});
  publish_identity(now, true);
  gang_agent_.step(now, LeaveBegun{});
  for (const HostId host : neighbours_) {
    goodbye_waits_for_.insert(host);
  }
  goodbye_waits_for_.insert(seat_.known_leader());
  std::erase_if(goodbye_waits_for_,
                [this](HostId host) { return host == options_.self || !is_reachable(host); });
  exit_at_ = now + (goodbye_waits_for_.empty() ? kLeaveAskPeriod : kLeaveLinger);
  ask_goodbye_at_ = goodbye_waits_for_.empty() ? kNever : now + kLeaveAskPeriod;
}

/// A leader hands over first, so that nobody has to notice that it is gone.
void Node::on(Instant now, const StopAsked&) {
  stopping_ = true;
  seat_.step(now, scheduler::input::GiveWay{});
  exit_at_ = std::min(exit_at_, seat_.is_handing_over() ? now + kHandOverMax : now);
}

/// Whoever floods does not say what arrived: so they are asked for the row of this host itself.
void Node::ask_for_goodbye(Instant now) {
  crdt::RowsBody question;
  question.want.push_back(options_.self);
  for (const HostId host : goodbye_waits_for_) {
    send(host, gossip::MessageType::kRows, Nonce(), crdt::encode(question));
  }
  ask_goodbye_at_ = now + kLeaveAskPeriod;
}

void Node::note_goodbye(Instant now, HostId from, const crdt::RowsBody& body) {
  if (goodbye_waits_for_.empty()) {
    return;
  }
  const bool has_it = std::any_of(body.rows.begin(), body.rows.end(), [this](const auto& of) {
    const auto field = of.row.fields.find(static_cast<std::uint32_t>(crdt::FieldId::kIdentity));
    return of.host == options_.self && field != of.row.fields.end() &&
           crdt::decode_identity(field->second.bytes).value_or(crdt::Identity()).left;
  });
  if (has_it && goodbye_waits_for_.erase(from) != 0 && goodbye_waits_for_.empty()) {
    exit_at_ = std::min(exit_at_, now + kLeaveAskPeriod);
    ask_goodbye_at_ = kNever;
  }
}

void Node::on(Instant now, SupervisorReport input) {
  gang_agent_.step(now, std::move(input.fact));
}

}  // namespace muster::agent
