#include "tests/sim/world.h"

#include <cstdio>
#include <utility>

#include "agent/start_record.h"
#include "gossip/base/check.h"
#include "gossip/base/version.h"
#include "tests/sim/raft_of_start.h"

namespace muster::sim {
namespace {

constexpr std::uint16_t kControlPort = 7450;
constexpr std::uint16_t kBulkPort = 7451;
constexpr Duration kDialTimeout = std::chrono::milliseconds(1500);
constexpr std::uint64_t kClientRoute = std::uint64_t{1} << 63;
constexpr std::uint32_t kSeedsMax = 5;
constexpr std::int64_t kMillion = 1'000'000;
constexpr Duration kPauseNoticed = std::chrono::milliseconds(500);
/// A node that ticks more often than this within kSpin asks for ticks that change nothing.
constexpr Duration kSpin = std::chrono::milliseconds(1);
constexpr std::uint32_t kSpinsMax = 10'000;
/// How soon after it thawed a host starts an agent that was to start meanwhile.
constexpr Duration kStartsWithin = std::chrono::milliseconds(10);

gossip::Endpoint endpoint_of(std::uint32_t host, std::uint16_t port) {
  return gossip::Endpoint::ipv4(10, 0, static_cast<std::uint8_t>(host >> 8),
                                static_cast<std::uint8_t>(host & 255), port);
}

HostId id_of(std::uint64_t seed, std::uint32_t host) {
  std::array<std::uint8_t, HostId::kSizeBytes> bytes{};
  std::uint64_t words[2] = {mix64(seed ^ host), mix64(seed + host + 1)};
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::uint8_t>(words[i / 8] >> 8 * (i % 8));
  }
  return HostId(bytes);
}

gossip::Route route_of(std::uint32_t from, gossip::Channel channel, std::uint32_t epoch) {
  return gossip::Route((std::uint64_t{from} + 1) << 33 |
                       static_cast<std::uint64_t>(channel) << 32 | epoch);
}

}  // namespace

struct World::Host {
  Host(HostId host_id, Rng rng) : id(host_id), farm(rng) {}
  HostId id;
  Disk disk;
  RankFarm farm;
  std::unique_ptr<agent::Node> node;
  std::uint32_t life = 0;  ///< Starts of the agent: inputs of an earlier one are dropped.
  std::uint64_t boots = 1;
  bool is_powered = true;
  bool is_frozen = false;
  Instant frozen_at;
  Instant thawed_at{};
  std::optional<Disk> image;
  bool is_put_back = false;
  std::vector<agent::Node::Input> backlog;
  Instant wake_at = kNever;
  Instant farm_wake_at = kNever;
  std::int64_t rate = kMillion;
  Duration clock_offset{0};
  Duration fsync_min{0};
  Duration fsync_max{0};
  Instant disk_free{};
  std::uint32_t steps = 0;
  std::uint32_t spins = 0;
  Instant spin_began{};
};

World::World(WorldOptions options)
    : options_(options), rng_(options.seed), network_(rng_.fork()) {
  for (std::uint32_t i = 0; i < options_.hosts; ++i) {
    hosts_.push_back(std::make_unique<Host>(id_of(options_.seed, i), rng_.fork()));
    Host& host = *hosts_.back();
    const auto drift = static_cast<std::uint64_t>(2 * options_.drift_ppm_max + 1);
    host.rate = kMillion - options_.drift_ppm_max + static_cast<std::int64_t>(rng_.below(drift));
    host.clock_offset = rng_.between(std::chrono::seconds(1), std::chrono::hours(24));
    host.fsync_min = options_.fsync_min;
    host.fsync_max = options_.fsync_max;
  }
  links_.resize(std::size_t{options_.hosts} * options_.hosts * 2);
  for (std::uint32_t i = 0; i < options_.hosts; ++i) {
    at(now_ + rng_.between(Duration(0), options_.start_spread), [this, i] { start_agent(i); });
  }
}

World::~World() = default;

void World::at(Instant when, std::function<void()> action) {
  queue_.push(when, Action{std::move(action)});
}

void World::run_until(Instant when) {
  while (queue_.next_time() <= when && !(options_.stop_at_violation && !violations_.empty())) {
    queue_.pop([this](Instant time, Payload& payload) {
      CHECK(time >= now_);
      now_ = time;
      std::visit([this](auto& event) { on(std::move(event)); }, payload);
    });
  }
  now_ = when;
}

// ---- clocks ----

Instant World::local(std::uint32_t index) const {
  const Host& host = *hosts_[index];
  const std::int64_t elapsed = now_.time_since_epoch().count();
  return Instant(host.clock_offset + Duration(elapsed / kMillion * host.rate +
                                              elapsed % kMillion * host.rate / kMillion));
}

Instant World::global(std::uint32_t index, Instant when) const {
  if (when == kNever) {
    return kNever;
  }
  const Host& host = *hosts_[index];
  const std::int64_t elapsed = (when.time_since_epoch() - host.clock_offset).count();
  return Instant(Duration(elapsed / host.rate * kMillion +
                          (elapsed % host.rate * kMillion + host.rate - 1) / host.rate));
}

// ---- events ----

void World::on(Deliver&& event) {
  Host& host = *hosts_[event.host];
  if (host.node == nullptr || host.life != event.life) {
    return;
  }
  if (host.is_frozen) {
    host.backlog.push_back(std::move(event.input));
    return;
  }
  feed(event.host, std::move(event.input));
}

void World::on(const LinkLost& event) {
  Link& lost = link(event.from, event.to, event.channel);
  if (lost.epoch != event.epoch || lost.state == Link::State::kNone) {
    return;
  }
  lost.state = Link::State::kNone;
  Host& host = *hosts_[event.from];
  if (host.node == nullptr || host.life != event.life) {
    return;
  }
  const bool listens = hosts_[event.to]->node != nullptr;
  const gossip::LinkLoss loss = event.timed_out ? gossip::LinkLoss::kTimeout
                                : listens       ? gossip::LinkLoss::kReset
                                                : gossip::LinkLoss::kRefused;
  const std::uint16_t port = event.channel == gossip::Channel::kControl ? kControlPort : kBulkPort;
  on(Deliver{event.from, event.life, gossip::LinkDown{endpoint_of(event.to, port), loss}});
}

void World::on(const Wake& event) {
  Host& host = *hosts_[event.host];
  if (host.node == nullptr || host.life != event.life || host.is_frozen || host.wake_at != now_) {
    return;
  }
  host.wake_at = kNever;
  ++steps_;
  host.spins = now_ - host.spin_began < kSpin ? host.spins + 1 : 0;
  host.spin_began = host.spins == 0 ? now_ : host.spin_began;
  if (host.spins > kSpinsMax) {
    std::fprintf(stderr, "host %u spins: %s\n", event.host, host.node->deadlines_text().c_str());
    CHECK(host.spins <= kSpinsMax);  // A deadline that its own tick() does not move.
  }
  host.node->tick(local(event.host));
  drain(event.host);
}

void World::on(const FarmWake& event) {
  Host& host = *hosts_[event.host];
  if (host.farm_wake_at != now_) {
    return;
  }
  host.farm_wake_at = kNever;
  if (host.is_frozen || !host.is_powered) {
    return;
  }
  host.farm.advance(local(event.host));
  farm_happened(event.host);
}

void World::on(const DiskDone& event) {
  Host& host = *hosts_[event.host];
  if (host.node == nullptr || host.life != event.life) {
    return;
  }
  host.disk.complete(event.id);
  on(Deliver{event.host, event.life, agent::Persisted{event.id}});
}

void World::on(const Thaw& event) {
  Host& host = *hosts_[event.host];
  if (!host.is_frozen) {
    return;
  }
  host.is_frozen = false;
  host.thawed_at = now_;
  host.farm.freeze(now_ - host.frozen_at);
  farm_happened(event.host);
  if (host.node == nullptr) {
    return;
  }
  std::vector<agent::Node::Input> backlog = std::exchange(host.backlog, {});
  if (now_ - host.frozen_at > kPauseNoticed) {
    feed(event.host, agent::Paused{now_ - host.frozen_at});
  }
  for (agent::Node::Input& input : backlog) {
    if (host.node != nullptr) {
      feed(event.host, std::move(input));
    }
  }
  schedule(event.host);
}

void World::on(const Action& event) { event.run(); }

// ---- the node and its surroundings ----

void World::feed(std::uint32_t index, agent::Node::Input&& input) {
  ++steps_;
  hosts_[index]->node->step(local(index), std::move(input));
  drain(index);
}

void World::drain(std::uint32_t index) {
  Host& host = *hosts_[index];
  agent::Node::Output output = host.node->take_output();
  for (agent::Persist& persist : output.persists) {
    host.disk.submit(persist.id, persist.environment, std::move(persist.writes));
    if (persist.id != 0) {
      host.disk_free = std::max(host.disk_free, now_) +
                       rng_.between(host.fsync_min, host.fsync_max);
      queue_.push(host.disk_free, DiskDone{index, host.life, persist.id});
    }
  }
  for (gossip::TransportOutput& each : output.transport) {
    std::visit([&](auto& out) { carry(index, std::move(out)); }, each);
  }
  for (const agent::SupervisorCommand& command : output.supervisor) {
    host.farm.command(local(index), command);
  }
  for (const agent::ReadOutput& read : output.reads) {
    queue_.push(now_, Deliver{index, host.life, agent::OutputRead{read.request, std::nullopt}});
  }
  for (const Event& event : output.events) {
    note(index, event);
  }
  if (!output.supervisor.empty()) {
    farm_happened(index);
  }
  if (++host.steps % options_.invariant_stride == 0) {
    host.node->check_invariants();
  }
  if (output.exit || output.raise_to.has_value()) {
    stop_agent(index);
    if (output.raise_to.has_value()) {
      at(now_ + std::chrono::milliseconds(100), [this, index] { start_agent(index); });
    }
    return;
  }
  schedule(index);
}

void World::schedule(std::uint32_t index) {
  Host& host = *hosts_[index];
  if (host.node == nullptr || host.is_frozen) {
    return;
  }
  const Instant wanted = std::max(global(index, host.node->next_deadline()), now_);
  if (wanted != kNever && wanted < host.wake_at) {
    host.wake_at = wanted == now_ ? now_ + Duration(1) : wanted;
    queue_.push(host.wake_at, Wake{index, host.life});
  }
}

void World::farm_happened(std::uint32_t index) {
  Host& host = *hosts_[index];
  for (const FarmFact& fact : host.farm.take_facts()) {
    for (const auto& checker : checkers_) {
      checker->on_fact(*this, index, fact);
    }
  }
  for (agent::GangAgentInput& report : host.farm.take_reports()) {
    queue_.push(now_ + std::chrono::milliseconds(1),
                Deliver{index, host.life, agent::SupervisorReport{std::move(report)}});
  }
  const Instant wanted = std::max(global(index, host.farm.next_deadline()), now_ + Duration(1));
  if (host.farm.next_deadline() != kNever && wanted < host.farm_wake_at) {
    host.farm_wake_at = wanted;
    queue_.push(wanted, FarmWake{index});
  }
}

// ---- the network ----

World::Link& World::link(std::uint32_t from, std::uint32_t to, gossip::Channel channel) {
  return links_[(std::size_t{from} * hosts_.size() + to) * 2 + static_cast<std::size_t>(channel)];
}

std::optional<std::pair<std::uint32_t, gossip::Channel>> World::resolve(
    const gossip::Endpoint& endpoint) const {
  const std::uint32_t index = std::uint32_t{endpoint.ip[14]} << 8 | endpoint.ip[15];
  if (index >= hosts_.size()) {
    return std::nullopt;
  }
  return std::pair(index, endpoint.port == kBulkPort ? gossip::Channel::kBulk
                                                     : gossip::Channel::kControl);
}

bool World::dial(std::uint32_t from, std::uint32_t to, gossip::Channel channel, Link& wanted) {
  const Host& target = *hosts_[to];
  const bool reachable =
      target.is_powered && !network_.is_cut(from, to) && !network_.is_cut(to, from);
  const Duration round_trip = network_.one_way() + network_.one_way();
  ++wanted.epoch;
  wanted.target_life = target.life;
  wanted.last_arrival = now_;
  wanted.ready = now_ + round_trip;
  wanted.state = Link::State::kDialing;
  const LinkLost lost{from, to, channel, wanted.epoch, hosts_[from]->life, !reachable};
  if (!reachable) {
    queue_.push(now_ + kDialTimeout, lost);
    return false;
  }
  if (target.node == nullptr) {
    queue_.push(wanted.ready, lost);
    return false;
  }
  wanted.state = Link::State::kUp;
  const std::uint16_t port = channel == gossip::Channel::kControl ? kControlPort : kBulkPort;
  queue_.push(wanted.ready,
              Deliver{from, hosts_[from]->life, gossip::LinkUp{endpoint_of(to, port)}});
  return true;
}

void World::deliver(std::uint32_t from, std::uint32_t to, Link& via, gossip::Received message) {
  const auto [delays, count] = network_.arrivals(from, to, message.bytes);
  for (std::size_t i = 0; i < count; ++i) {
    Instant when = std::max(now_, via.ready) + delays[i];
    if (i == 0 && delays[i] <= network_.faults.delay_max) {
      when = std::max(when, via.last_arrival);  // TCP keeps order; late copies are the fault.
      via.last_arrival = when;
    }
    gossip::Received copy = i + 1 < count ? message : std::move(message);
    queue_.push(when, Deliver{to, hosts_[to]->life, std::move(copy)});
  }
}

void World::carry(std::uint32_t from, gossip::Send send) {
  const auto target = resolve(send.to);
  if (!target.has_value() || target->first == from) {
    return;
  }
  const auto [to, channel] = *target;
  Link& used = link(from, to, channel);
  if (used.state == Link::State::kDialing ||
      (used.state == Link::State::kNone && !dial(from, to, channel, used))) {
    return;
  }
  const Host& host = *hosts_[to];
  if (used.target_life != host.life || host.node == nullptr) {
    const bool answers = host.is_powered && !network_.is_cut(from, to);
    if (answers) {
      queue_.push(now_ + network_.one_way() + network_.one_way(),
                  LinkLost{from, to, channel, used.epoch, hosts_[from]->life, false});
    }
    return;
  }
  deliver(from, to, used,
          gossip::Received{route_of(from, channel, used.epoch), channel, std::move(send.bytes)});
}

void World::carry(std::uint32_t from, gossip::Reply reply) {
  if ((reply.route.value() & kClientRoute) != 0) {
    const std::uint64_t client = reply.route.value() & ~kClientRoute;
    Result<gossip::Message> message = gossip::decode(std::move(reply.bytes));
    CHECK(message.has_value());
    const auto response = agent::decode_response(message->body());
    CHECK(response.has_value());
    replies_[client] = ClientReply{client, *response, now_};
    return;
  }
  const auto to = static_cast<std::uint32_t>((reply.route.value() >> 33) - 1);
  const auto channel = static_cast<gossip::Channel>(reply.route.value() >> 32 & 1);
  Link& used = link(to, from, channel);
  if (to >= hosts_.size() || used.state != Link::State::kUp ||
      used.epoch != static_cast<std::uint32_t>(reply.route.value()) ||
      used.target_life != hosts_[from]->life || hosts_[to]->node == nullptr) {
    return;
  }
  const std::uint16_t port = channel == gossip::Channel::kControl ? kControlPort : kBulkPort;
  deliver(from, to, used,
          gossip::Received{gossip::Route(), channel, std::move(reply.bytes),
                           endpoint_of(from, port)});
}

void World::carry(std::uint32_t from, const gossip::DropLink& drop) {
  const auto target = resolve(drop.peer);
  if (target.has_value()) {
    Link& dropped = link(from, target->first, target->second);
    dropped.state = Link::State::kNone;
    ++dropped.epoch;
  }
}

void World::lose_links_to(std::uint32_t host) {
  for (std::uint32_t from = 0; from < hosts_.size(); ++from) {
    for (const gossip::Channel channel : {gossip::Channel::kControl, gossip::Channel::kBulk}) {
      link(host, from, channel).state = Link::State::kNone;
      const Link& lost = link(from, host, channel);
      if (lost.state == Link::State::kUp && !network_.is_cut(host, from)) {
        queue_.push(now_ + network_.one_way(),
                    LinkLost{from, host, channel, lost.epoch, hosts_[from]->life, false});
      }
    }
  }
}

// ---- faults ----

void World::stop_agent(std::uint32_t index) {
  Host& host = *hosts_[index];
  if (host.node == nullptr) {
    return;
  }
  host.node.reset();
  host.backlog.clear();
  host.wake_at = kNever;
  host.disk.crash(rng_);
  if (host.is_powered) {
    lose_links_to(index);
  }
}

void World::kill_agent(std::uint32_t index) { stop_agent(index); }

void World::ask_to_stop(std::uint32_t index) { feed(index, agent::StopAsked{}); }

void World::start_agent(std::uint32_t index) {
  Host& host = *hosts_[index];
  if (host.node != nullptr || !host.is_powered) {
    return;
  }
  if (host.is_frozen) {
    return at(now_ + kStartsWithin, [this, index] { start_agent(index); });
  }
  ++host.life;
  agent::NodeOptions options;
  options.self = host.id;
  options.name = "h" + std::to_string(index);
  options.boot_id = "boot-" + std::to_string(host.boots);
  options.rack = options_.racks == 0 ? "" : "r" + std::to_string(index % options_.racks);
  options.relays_from_hosts = options_.relays_from_hosts;
  options.control = endpoint_of(index, kControlPort);
  options.bulk = endpoint_of(index, kBulkPort);
  options.bootstrap_expect = options_.bootstrap_expect;
  const auto seeds = static_cast<std::uint32_t>(std::max(options_.bootstrap_expect, 1));
  for (std::uint32_t i = 0; i < std::min({seeds, kSeedsMax, options_.hosts}); ++i) {
    options.seeds.push_back(endpoint_of(i, kControlPort));
  }
  options.compact_entries = options_.compact_entries;
  options.capacity.gpu_type = "H100";
  for (std::uint32_t i = 0; i < options_.gpus_per_host; ++i) {
    options.capacity.gpus.push_back({"GPU-" + std::to_string(index) + "-" + std::to_string(i)});
  }
  agent::Recovered recovered;
  const agent::StartRecord start =
      agent::next_start(host.disk.read(crdt::Environment::kId), StartId(rng_.next()));
  host.disk.submit(0, crdt::Environment::kId, start.writes);
  host.disk.complete(0);  // Synced before the node is made.
  options.start = start.start;
  recovered.id = host.disk.read(crdt::Environment::kId);
  recovered.raft = raft_of_start(host.disk, host.id, rng_);
  recovered.state = host.disk.read(crdt::Environment::kState);
  host.node = std::make_unique<agent::Node>(std::move(options), recovered, rng_.fork(),
                                            local(index));
  drain(index);
  for (agent::GangAgentInput& found : host.farm.scan(local(index))) {
    if (host.node != nullptr) {
      feed(index, agent::SupervisorReport{std::move(found)});
    }
  }
}

void World::power_off(std::uint32_t index) {
  Host& host = *hosts_[index];
  if (!host.is_powered) {
    return;
  }
  host.is_powered = false;
  host.is_frozen = false;
  stop_agent(index);
  host.disk.lose_power(rng_);
  host.farm.lose_power();
  farm_happened(index);
}

void World::power_on(std::uint32_t index) {
  Host& host = *hosts_[index];
  if (host.is_powered) {
    return;
  }
  host.is_powered = true;
  ++host.boots;
  start_agent(index);
}

void World::freeze(std::uint32_t index, Duration duration) {
  Host& host = *hosts_[index];
  if (host.is_frozen || !host.is_powered) {
    return;
  }
  host.is_frozen = true;
  host.frozen_at = now_;
  host.wake_at = kNever;
  host.farm_wake_at = kNever;
  queue_.push(now_ + duration, Thaw{index});
}

void World::kill_supervisor(std::uint32_t index) {
  if (hosts_[index]->farm.kill_some_supervisor(local(index))) {
    farm_happened(index);
  }
}

void World::set_fsync(std::uint32_t index, Duration min, Duration max) {
  hosts_[index]->fsync_min = min;
  hosts_[index]->fsync_max = max;
}

void World::keep_image(std::uint32_t index) {
  hosts_[index]->image = hosts_[index]->disk;
  hosts_[index]->image->crash(rng_);
}

void World::put_image_back(std::uint32_t index) {
  Host& host = *hosts_[index];
  if (host.image.has_value()) {
    power_off(index);
    host.disk = *host.image;
    host.farm = RankFarm(rng_.fork());  // Evidence was on that disk, too.
    host.is_put_back = true;
  }
}

void World::lose_raft(std::uint32_t index, const crdt::WriteBatch& first) {
  kill_agent(index);
  hosts_[index]->disk.begin_anew(crdt::Environment::kRaft, first);
}

// ---- clients and readers ----

std::uint64_t World::ask(std::uint32_t index, agent::Request request) {
  const std::uint64_t client = next_client_++;
  gossip::Envelope envelope;
  envelope.version = kProtocolVersion;
  envelope.type = gossip::MessageType::kRequest;
  envelope.nonce = Nonce(client);
  if (hosts_[index]->node != nullptr) {
    queue_.push(now_ + network_.one_way(),
                Deliver{index, hosts_[index]->life,
                        gossip::Received{gossip::Route(kClientRoute | client),
                                         gossip::Channel::kControl,
                                         gossip::encode(envelope, agent::encode(request))}});
  }
  return client;
}

bool World::is_running(std::uint32_t host) const { return hosts_[host]->node != nullptr; }
bool World::is_powered(std::uint32_t host) const { return hosts_[host]->is_powered; }
bool World::is_frozen(std::uint32_t host) const { return hosts_[host]->is_frozen; }

const agent::Node& World::node(std::uint32_t host) const {
  CHECK(is_running(host));
  return *hosts_[host]->node;
}

Instant World::thawed_at(std::uint32_t host) const { return hosts_[host]->thawed_at; }
bool World::was_put_back(std::uint32_t host) const { return hosts_[host]->is_put_back; }
const Disk& World::disk(std::uint32_t host) const { return hosts_[host]->disk; }
const RankFarm& World::farm(std::uint32_t host) const { return hosts_[host]->farm; }
HostId World::id(std::uint32_t host) const { return hosts_[host]->id; }

std::optional<std::uint32_t> World::find(HostId wanted) const {
  for (std::uint32_t i = 0; i < hosts_.size(); ++i) {
    if (hosts_[i]->id == wanted) {
      return i;
    }
  }
  return std::nullopt;
}

}  // namespace muster::sim
