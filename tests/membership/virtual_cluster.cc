#include "tests/membership/virtual_cluster.h"

#include <algorithm>

#include "gossip/base/check.h"
#include "gossip/spread/overlay.h"
#include "gossip/wire/message.h"
#include "tests/gossip/base/stand_in_keys.h"

namespace muster::membership {
namespace {

using gossip::MessageType;

constexpr Duration kDialRetry = std::chrono::seconds(1);
constexpr Duration kRetransmit = std::chrono::milliseconds(200);

std::string envelope(HostId from, Generation generation, Nonce nonce, MessageType type,
                     const std::string& body) {
  gossip::Envelope out;
  out.version = 1;
  out.type = type;
  out.from = from;
  out.generation = generation;
  out.nonce = nonce;
  return gossip::encode(out, body);
}

HostId make_id(std::size_t host) {
  std::array<std::uint8_t, HostId::kSizeBytes> bytes{};
  const std::uint64_t mixed = mix64(host + 1);
  for (std::size_t i = 0; i < 8; ++i) {
    bytes[i] = static_cast<std::uint8_t>(mixed >> (8 * i));
  }
  bytes[15] = static_cast<std::uint8_t>(host);
  return HostId(bytes);
}

}  // namespace

VirtualCluster::VirtualCluster(std::size_t hosts, std::uint64_t seed, std::size_t absent)
    : rng_(seed) {
  hosts_.resize(hosts);
  for (std::size_t host = 0; host < hosts; ++host) {
    indexes_.emplace(make_id(host), host);
  }
  for (std::size_t host = 0; host + absent < hosts; ++host) {
    boot(host);
  }
}

HostId VirtualCluster::id(std::size_t host) const {
  return make_id(host);
}

MemberState VirtualCluster::state(std::size_t by, std::size_t about) const {
  const Member* member = hosts_[by].membership->member(id(about));
  return member == nullptr ? MemberState::kLeft : member->state;
}

// Lives.

void VirtualCluster::boot(std::size_t host) {
  Host& it = hosts_[host];
  it.generation = it.generation.next();
  it.life = Life::kRunning;
  it.neighbours.clear();
  const AgentStart start{it.generation, StartId(rng_.next())};
  it.membership = std::make_unique<Membership>(id(host), start, "", rng_.fork(), now_);
  it.store = std::make_unique<crdt::HostStore>(id(host), it.generation, it.disk, rng_.fork(),
                                               gossip::testing::signer_of(id(host)));
  std::vector<crdt::FieldChange> recovered;
  for (const auto& [known, slot] : it.store->rows()) {
    for (const auto& [field, value] : slot.row.fields) {
      recovered.push_back({known, static_cast<crdt::FieldId>(field)});
    }
  }
  feed(host, recovered);
  publish_identity(host, false);
  pump(host);
  if (host != 0) {
    send_rows(host, id(0), it.store->introduction());
  }
}

void VirtualCluster::publish_identity(std::size_t host, bool left) {
  crdt::Identity identity;
  identity.name = "host-" + std::to_string(host);
  identity.start_id = hosts_[host].membership->member(id(host))->start.start_id;
  identity.left = left;
  hosts_[host].store->step(now_,
                           crdt::Publish{crdt::FieldId::kIdentity, crdt::encode(identity), true});
}

void VirtualCluster::power_off(std::size_t host) {
  hosts_[host].life = Life::kOff;
}

void VirtualCluster::kill_agent(std::size_t host) {
  hosts_[host].life = Life::kKilled;
  hosts_[host].waiting.clear();
  for (std::size_t peer = 0; peer < hosts_.size(); ++peer) {
    Link& out = links_[{host, peer}];
    out = Link{LinkState::kNone, out.epoch + 1, {}, Duration(0), false};
    if (links_[{peer, host}].state == LinkState::kUp && is_open(host, peer)) {
      after(delay(), [this, peer, host] { link_lost(peer, host, gossip::LinkLoss::kReset); });
    }
  }
}

void VirtualCluster::restart(std::size_t host) {
  boot(host);
}

void VirtualCluster::freeze(std::size_t host) {
  hosts_[host].life = Life::kFrozen;
  hosts_[host].frozen_at = now_;
}

void VirtualCluster::thaw(std::size_t host) {
  Host& it = hosts_[host];
  it.life = Life::kRunning;
  // The edge drains what waited before any silence is judged.
  for (const auto& arrived : std::exchange(it.waiting, {})) {
    arrived();
  }
  it.membership->step(now_, Paused{now_ - it.frozen_at});
  pump(host);
}

void VirtualCluster::leave(std::size_t host) {
  publish_identity(host, true);
  pump(host);
  after(std::chrono::milliseconds(200), [this, host] { kill_agent(host); });
}

void VirtualCluster::cut(const std::set<std::size_t>& side) {
  for (const std::size_t inside : side) {
    for (std::size_t outside = 0; outside < hosts_.size(); ++outside) {
      if (!side.contains(outside)) {
        cut_.insert({inside, outside});
        cut_.insert({outside, inside});
      }
    }
  }
}

// Time.

void VirtualCluster::after(Duration delay, std::function<void()> run) {
  tasks_.push({now_ + delay, ++order_, std::move(run)});
}

void VirtualCluster::tick_due() {
  for (std::size_t host = 0; host < hosts_.size(); ++host) {
    Host& it = hosts_[host];
    if (it.life != Life::kRunning) {
      continue;
    }
    const bool is_due = it.membership->next_deadline() <= now_ || it.store->next_deadline() <= now_;
    if (is_due) {
      it.membership->tick(now_);
      it.store->tick(now_);
      pump(host);
      CHECK(it.membership->next_deadline() > now_);
    }
  }
}

void VirtualCluster::run_for(Duration duration) {
  const Instant end = now_ + duration;
  while (true) {
    Instant next = tasks_.empty() ? kNever : tasks_.top().at;
    for (const Host& host : hosts_) {
      if (host.life == Life::kRunning) {
        next = std::min({next, host.membership->next_deadline(), host.store->next_deadline()});
      }
    }
    if (next > end) {
      break;
    }
    now_ = std::max(now_, next);
    while (!tasks_.empty() && tasks_.top().at <= now_) {
      const auto run = tasks_.top().run;
      tasks_.pop();
      run();
    }
    tick_due();
  }
  now_ = end;
}

bool VirtualCluster::settle(Duration limit) {
  const Instant end = now_ + limit;
  std::size_t running = 0;
  for (std::size_t host = 0; host < hosts_.size(); ++host) {
    running += is_running(host) ? 1U : 0U;
  }
  while (now_ < end) {
    run_for(std::chrono::milliseconds(500));
    std::set<std::uint64_t> digests;
    bool is_complete = true;
    for (std::size_t host = 0; host < hosts_.size(); ++host) {
      if (is_running(host)) {
        digests.insert(store(host).digest());
        is_complete = is_complete && membership(host).members().size() == running;
      }
    }
    if (is_complete && digests.size() == 1) {
      return true;
    }
  }
  return false;
}

// The network.

bool VirtualCluster::is_open(std::size_t from, std::size_t to) const {
  return hosts_[to].life != Life::kOff && hosts_[from].life != Life::kOff &&
         !cut_.contains({from, to});
}

bool VirtualCluster::is_lost(std::size_t from, std::size_t to) {
  const bool is_bad_host = from == lossy_host_ || to == lossy_host_;
  return rng_.chance(is_bad_host ? lossy_per_million_ : loss_per_million_);
}

/// Runs now, or when the host thaws.
void VirtualCluster::deliver_event(std::size_t host, std::function<void()> run) {
  if (hosts_[host].life == Life::kFrozen) {
    hosts_[host].waiting.push_back(std::move(run));
  } else if (hosts_[host].life == Life::kRunning) {
    run();
    pump(host);
  }
}

void VirtualCluster::send(std::size_t from, std::size_t to, std::string bytes) {
  ++messages_;
  Link& link = links_[{from, to}];
  if (link.state == LinkState::kUp && link.stalled.empty()) {
    transmit(from, to, std::move(bytes));
    return;
  }
  link.stalled.push_back(std::move(bytes));
  if (link.state == LinkState::kNone) {
    link.state = LinkState::kDialling;
    dial(from, to);
  }
}

void VirtualCluster::send_rows(std::size_t from, HostId to, const std::string& body) {
  send(from, index(to),
       envelope(id(from), hosts_[from].generation, Nonce(), MessageType::kRows, body));
}

void VirtualCluster::transmit(std::size_t from, std::size_t to, std::string bytes) {
  if (is_lost(from, to)) {
    return;
  }
  Link& link = links_[{from, to}];
  if (!is_open(from, to)) {
    link.stalled.push_back(std::move(bytes));
    stall(from, to, kRetransmit);
    return;
  }
  after(delay(), [this, from, to, epoch = link.epoch, bytes = std::move(bytes)] {
    if (links_[{from, to}].epoch == epoch && is_open(from, to)) {
      receive(to, from, bytes);
    }
  });
}

/// Answers travel on the asker's connection: they end with it.
void VirtualCluster::reply(std::size_t from, std::size_t to, std::string bytes) {
  ++messages_;
  Link& link = links_[{to, from}];
  if (link.state != LinkState::kUp || !is_open(from, to) || is_lost(from, to)) {
    return;
  }
  after(delay(), [this, from, to, epoch = link.epoch, bytes = std::move(bytes)] {
    if (links_[{to, from}].epoch == epoch && is_open(from, to)) {
      receive(to, from, bytes);
    }
  });
}

void VirtualCluster::dial(std::size_t from, std::size_t to) {
  if (!is_open(from, to)) {
    stall(from, to, kDialRetry);
    return;
  }
  const std::uint64_t epoch = links_[{from, to}].epoch;
  after(delay() * 2, [this, from, to, epoch] {
    Link& link = links_[{from, to}];
    if (link.epoch != epoch) {
      return;
    }
    if (hosts_[to].life == Life::kKilled) {
      link_lost(from, to, gossip::LinkLoss::kRefused);
      return;
    }
    link.state = LinkState::kUp;
    for (std::string& bytes : std::exchange(link.stalled, {})) {
      transmit(from, to, std::move(bytes));
    }
    deliver_event(from, [this, from, to] { hosts_[from].store->step(now_, crdt::PeerUp{id(to)}); });
  });
}

void VirtualCluster::stall(std::size_t from, std::size_t to, Duration retry) {
  Link& link = links_[{from, to}];
  if (link.is_retrying) {
    return;
  }
  link.is_retrying = true;
  link.retry = retry;
  after(retry, [this, from, to, epoch = link.epoch] { retransmit(from, to, epoch); });
}

void VirtualCluster::retransmit(std::size_t from, std::size_t to, std::uint64_t epoch) {
  Link& link = links_[{from, to}];
  if (link.epoch != epoch) {
    return;
  }
  if (!is_open(from, to)) {
    link.retry *= 2;
    after(link.retry, [this, from, to, epoch] { retransmit(from, to, epoch); });
    return;
  }
  link.is_retrying = false;
  if (link.state == LinkState::kDialling) {
    dial(from, to);
    return;
  }
  for (std::string& bytes : std::exchange(link.stalled, {})) {
    transmit(from, to, std::move(bytes));
  }
}

void VirtualCluster::drop_link(std::size_t from, std::size_t to) {
  Link& link = links_[{from, to}];
  link = Link{LinkState::kNone, link.epoch + 1, {}, Duration(0), false};
}

void VirtualCluster::link_lost(std::size_t at, std::size_t peer, gossip::LinkLoss loss) {
  drop_link(at, peer);
  deliver_event(at, [this, at, peer, loss] {
    hosts_[at].membership->step(now_, LinkLost{id(peer), loss});
  });
}

void VirtualCluster::receive(std::size_t host, std::size_t from, const std::string& bytes) {
  deliver_event(host, [this, host, from, bytes] {
    const Result<gossip::Message> message = gossip::decode(bytes);
    CHECK(message.has_value());
    const gossip::Envelope& head = message->envelope();
    Host& it = hosts_[host];
    if (head.type == MessageType::kRows) {
      std::optional<crdt::RowsBody> rows = crdt::decode_rows(message->body());
      CHECK(rows.has_value());
      it.store->step(now_, crdt::RowsReceived{id(from), *std::move(rows)});
      return;
    }
    std::optional<Body> body = decode_body(head.type, message->body());
    CHECK(body.has_value());
    it.membership->step(now_, MessageReceived{head.from, head.generation, head.nonce, *body});
  });
}

// The work of a node between its machines.

void VirtualCluster::pump(std::size_t host) {
  bool is_moving = true;
  while (is_moving) {
    is_moving = pump_membership(host);
    is_moving = pump_store(host) || is_moving;
  }
  hosts_[host].membership->check_invariants();
}

bool VirtualCluster::pump_membership(std::size_t host) {
  Host& it = hosts_[host];
  Membership::Output out = it.membership->take_output();
  for (const HostId& peer : out.drop_links) {
    drop_link(host, index(peer));
  }
  for (const Outgoing& message : out.messages) {
    std::string bytes = envelope(id(host), it.generation, message.nonce, type_of(message.body),
                                 encode(message.body));
    if (message.reply) {
      reply(host, index(message.to), std::move(bytes));
    } else {
      send(host, index(message.to), std::move(bytes));
    }
  }
  for (Event& event : out.events) {
    said_.push_back({now_, host, std::move(event)});
  }
  for (const auto& [peer, version] : out.heard) {
    it.store->step(now_, crdt::PeerVersion{peer, version});
  }
  if (out.evidence.has_value()) {
    it.store->step(now_,
                   crdt::Publish{crdt::FieldId::kEvidence, crdt::encode_evidence(*out.evidence),
                                 !out.evidence_may_wait});
  }
  if (out.observers.has_value()) {
    it.store->step(now_, crdt::Publish{crdt::FieldId::kObservers,
                                       crdt::encode_observers(*out.observers), true});
  }
  if (!out.changed.empty()) {
    choose_links(host);
  }
  return out.evidence.has_value() || out.observers.has_value() || !out.heard.empty();
}

bool VirtualCluster::pump_store(std::size_t host) {
  Host& it = hosts_[host];
  crdt::HostStore::Output out = it.store->take_output();
  for (const crdt::RowsMessage& message : out.messages) {
    send_rows(host, message.to, message.body);
  }
  for (const crdt::Write& write : out.writes) {
    if (write.value.has_value()) {
      it.disk[write.key] = *write.value;
    } else {
      it.disk.erase(write.key);
    }
  }
  for (Event& event : out.events) {
    said_.push_back({now_, host, std::move(event)});
  }
  feed(host, out.changes);
  it.membership->step(now_, OwnVersion{it.store->own_version().sequence});
  return !out.changes.empty();
}

void VirtualCluster::feed(std::size_t host, const std::vector<crdt::FieldChange>& changes) {
  Host& it = hosts_[host];
  std::set<HostId> rows;
  for (const crdt::FieldChange& change : changes) {
    if (change.field != crdt::FieldId::kEvidence) {
      rows.insert(change.host);
    }
  }
  for (const HostId& changed : rows) {
    const crdt::Field* identity = it.store->field(changed, crdt::FieldId::kIdentity);
    const crdt::Field* observers = it.store->field(changed, crdt::FieldId::kObservers);
    if (identity == nullptr) {
      continue;
    }
    const crdt::Identity said = *crdt::decode_identity(identity->bytes);
    MemberChanged input{
        changed, {identity->version.generation, said.start_id}, said.rack, {}, said.left};
    if (observers != nullptr) {
      input.observers = *crdt::decode_observers(observers->bytes);
    }
    it.membership->step(now_, std::move(input));
  }
  for (const crdt::FieldChange& change : changes) {
    if (change.field == crdt::FieldId::kEvidence) {
      const crdt::Field* claims = it.store->field(change.host, crdt::FieldId::kEvidence);
      EvidenceChanged input{change.host, {}};
      if (claims != nullptr) {
        input.claims = *crdt::decode_evidence(claims->bytes);
      }
      it.membership->step(now_, std::move(input));
    }
  }
}

void VirtualCluster::choose_links(std::size_t host) {
  Host& it = hosts_[host];
  std::vector<HostId> chosen = gossip::choose_neighbours(it.membership->overlay());
  if (chosen == it.neighbours) {
    return;
  }
  it.neighbours = chosen;
  for (const HostId& peer : chosen) {
    Link& link = links_[{host, index(peer)}];
    if (link.state == LinkState::kNone) {
      link.state = LinkState::kDialling;
      dial(host, index(peer));
    }
  }
  it.store->step(now_, crdt::NeighboursChanged{std::move(chosen)});
}

// Events.

std::optional<Duration> VirtualCluster::first(std::string_view event, std::size_t host,
                                              Instant from) const {
  for (const Said& line : said_) {
    if (line.at >= from && line.event.name == event &&
        line.event.field("host") == id(host).short_hex()) {
      return line.at - from;
    }
  }
  return std::nullopt;
}

std::optional<Duration> VirtualCluster::all(std::string_view event, std::size_t host,
                                            Instant from) const {
  std::map<std::size_t, Duration> by;
  for (const Said& line : said_) {
    if (line.at >= from && line.event.name == event &&
        line.event.field("host") == id(host).short_hex()) {
      by.emplace(line.by, line.at - from);
    }
  }
  Duration last{0};
  for (std::size_t other = 0; other < hosts_.size(); ++other) {
    if (other == host || !is_running(other)) {
      continue;
    }
    if (!by.contains(other)) {
      return std::nullopt;
    }
    last = std::max(last, by[other]);
  }
  return last;
}

std::size_t VirtualCluster::count(std::string_view event, Instant from) const {
  return static_cast<std::size_t>(std::count_if(said_.begin(), said_.end(), [&](const Said& line) {
    return line.at >= from && line.event.name == event;
  }));
}

bool VirtualCluster::all_alive() const {
  for (std::size_t by = 0; by < hosts_.size(); ++by) {
    for (std::size_t about = 0; about < hosts_.size(); ++about) {
      if (is_running(by) && is_running(about) && state(by, about) != MemberState::kAlive) {
        return false;
      }
    }
  }
  return true;
}

std::string VirtualCluster::story() const {
  std::string text;
  for (const Said& line : said_) {
    text += std::to_string(to_ms(line.at)) + " " + std::to_string(line.by) + " " +
            line.event.text() + "\n";
  }
  return text;
}

}  // namespace muster::membership
