#include "tests/sim/world.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "gossip/base/check.h"
#include "gossip/base/version.h"
#include "tests/sim/world_host.h"

namespace muster::sim {
namespace {

/// A node that ticks more often than this within kSpin asks for ticks that change nothing.
constexpr Duration kSpin = std::chrono::milliseconds(1);
constexpr std::uint32_t kSpinsMax = 10'000;
/// When every simulated run begins, on the clocks that people read.
constexpr std::int64_t kUnixStartMs = 1'700'000'000'000;

HostId id_of(std::uint64_t seed, std::uint32_t host) {
  std::array<std::uint8_t, HostId::kSizeBytes> bytes{};
  std::uint64_t words[2] = {mix64(seed ^ host), mix64(seed + host + 1)};
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::uint8_t>(words[i / 8] >> 8 * (i % 8));
  }
  return HostId(bytes);
}

}  // namespace

World::World(WorldOptions options)
    : options_(options), rng_(options.seed), network_(rng_.fork()), processors_(options.prices) {
  for (std::uint32_t i = 0; i < options_.hosts; ++i) {
    const HostId id = i < options_.ids.size() ? options_.ids[i] : id_of(options_.seed, i);
    hosts_.push_back(std::make_unique<Host>(id, rng_.fork(), &signed_));
    Host& host = *hosts_.back();
    host.address = i;
    const auto drift = static_cast<std::uint64_t>(2 * options_.drift_ppm_max + 1);
    host.rate = kMillion - options_.drift_ppm_max + static_cast<std::int64_t>(rng_.below(drift));
    host.clock_offset = rng_.between(std::chrono::seconds(1), std::chrono::hours(24));
    host.fsync_min = options_.fsync_min;
    host.fsync_max = options_.fsync_max;
    if (is_newcomer(i)) {
      // Of members' no member looks at the size.
      host.base_link_key.resize(gossip::kLinkKeyBytes, '-');
      host.link_key = host.base_link_key;
    }
  }
  links_.resize(std::size_t{options_.hosts} * options_.hosts * 2);
  for (std::uint32_t i = 0; i < options_.hosts && !is_newcomer(i); ++i) {
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

/// The time that the wall clock of the host shows.
std::int64_t World::unix_ms(std::uint32_t index) const {
  return kUnixStartMs + to_ms(local(index)) + to_ms(hosts_[index]->wall_offset);
}

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
  } else {
    take_in(event.host, std::move(event.input));
  }
}

/// By way of the reflex, what the transport brings.
void World::take_in(std::uint32_t index, agent::Node::Input&& input) {
  const bool is_of_transport = std::holds_alternative<gossip::Received>(input) ||
                               std::holds_alternative<gossip::LinkUp>(input) ||
                               std::holds_alternative<gossip::LinkDown>(input);
  if (!processors_.is_on()) {
    answer_as_reflex(index, input);
    feed(index, std::move(input));
  } else if (is_of_transport) {
    wait_at_reflex(index, std::move(input));
  } else {
    wait_in_loop(index, std::move(input));
  }
}

/// Stamps it with its arrival and, where it is a Probe, says the Ack.
void World::answer_as_reflex(std::uint32_t index, agent::Node::Input& input) {
  auto* received = std::get_if<gossip::Received>(&input);
  if (received == nullptr) {
    return;
  }
  received->at = local(index);
  if (auto answer = hosts_[index]->reflex->answer(received->at, *received)) {
    received->is_answered = true;
    carry(index, gossip::Reply{received->route, std::move(answer->ack)});
  }
}

void World::carry_out(std::uint32_t index, gossip::TransportOutput&& output) {
  std::visit([&](auto& out) { carry(index, std::move(out)); }, output);
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
  const gossip::LinkLoss loss = event.unproven    ? gossip::LinkLoss::kUnproven
                                : event.timed_out ? gossip::LinkLoss::kTimeout
                                : listens         ? gossip::LinkLoss::kReset
                                                  : gossip::LinkLoss::kRefused;
  const std::uint16_t port = event.channel == gossip::Channel::kControl ? kControlPort : kBulkPort;
  on(Deliver{event.from, event.life, gossip::LinkDown{endpoint(event.to, port), loss}});
}

void World::on(const Wake& event) {
  Host& host = *hosts_[event.host];
  if (host.node == nullptr || host.life != event.life || host.is_frozen || host.wake_at != now_) {
    return;
  }
  host.wake_at = kNever;
  if (processors_.is_on()) {
    return wait_with_timers(event.host);
  }
  tick(event.host);
}

void World::tick(std::uint32_t index) {
  Host& host = *hosts_[index];
  ++steps_;
  host.spins = now_ - host.spin_began < kSpin ? host.spins + 1 : 0;
  host.spin_began = host.spins == 0 ? now_ : host.spin_began;
  if (host.spins > kSpinsMax) {
    std::fprintf(stderr, "host %u spins: %s\n", index, host.node->deadlines_text().c_str());
    CHECK(host.spins <= kSpinsMax);  // A deadline that its own tick() does not move.
  }
  {
    const Stopwatch watch(options_.measure_cpu ? &host.cost.cpu : nullptr);
    host.node->tick(local(index));
  }
  drain(index);
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
      take_in(event.host, std::move(input));
    }
  }
  if (processors_.is_on()) {
    wake(event.host, Lane::kReflex);
    wake(event.host, Lane::kLoop);
    wake(event.host, Lane::kCheck);
  }
  schedule(event.host);
}

void World::on(const Action& event) {
  event.run();
}

// ---- the node and its surroundings ----

void World::feed(std::uint32_t index, agent::Node::Input&& input) {
  ++steps_;
  const auto* received = std::get_if<gossip::Received>(&input);
  if (options_.check_messages && received != nullptr) {
    for (const auto& checker : checkers_) {
      checker->on_heard(*this, index, *received);
    }
  }
  {
    const Stopwatch watch(options_.measure_cpu ? &hosts_[index]->cost.cpu : nullptr);
    hosts_[index]->node->step(local(index), std::move(input));
  }
  drain(index);
}

void World::drain(std::uint32_t index) {
  Host& host = *hosts_[index];
  agent::Node::Output output = host.node->take_output();
  spent_ += processors_.is_on() ? price_of(output) : Duration(0);
  for (agent::Persist& persist : output.persists) {
    host.disk.submit(persist.id, persist.environment, std::move(persist.writes));
    if (persist.id != 0) {
      host.disk_free =
          std::max(host.disk_free, now_) + rng_.between(host.fsync_min, host.fsync_max);
      queue_.push(host.disk_free, DiskDone{index, host.life, persist.id});
    }
  }
  if (output.reflex.has_value()) {
    host.reflex.emplace(*std::move(output.reflex));
  }
  for (gossip::TransportOutput& each : output.transport) {
    if (processors_.is_on()) {
      wait_at_reflex(index, std::move(each));
    } else {
      carry_out(index, std::move(each));
    }
  }
  for (const agent::SupervisorCommand& command : output.supervisor) {
    host.farm.command(local(index), command);
  }
  for (const agent::gpus::Command& command : output.gpus) {
    for (GpuFarm::Answer& answer : host.gpus.answers(local(index), command)) {
      queue_.push(now_ + answer.after,
                  Deliver{index, host.life, agent::GpuFact{std::move(answer.fact)}});
    }
  }
  for (crdt::RowsToCheck& check : output.checks) {
    for (const crdt::RowOf& row : check.body.rows) {
      host.cost.fields_checked += row.row.fields.size();
    }
    if (processors_.is_on()) {
      wait_for_check(index, std::move(check));
    } else {
      queue_.push(now_, Deliver{index, host.life, host.rows_checker->check(std::move(check))});
    }
  }
  for (const agent::ReadOutput& read : output.reads) {
    queue_.push(now_, Deliver{index, host.life, agent::OutputRead{read.request, std::nullopt}});
  }
  for (const agent::ReadStats& read : output.stats_reads) {
    queue_.push(now_, Deliver{index, host.life, agent::StatsRead{read.request}});
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
    say_what_waits(index);
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
  if (host.node == nullptr || host.is_frozen || host.tick_waits) {
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
    if (options_.are_gpus_watched) {
      if (const std::string wrong = host.gpus.on_fact(local(index), fact); !wrong.empty()) {
        violation("clean_gpus", wrong);
      }
    }
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

// ---- clients and readers ----

std::uint64_t World::ask(std::uint32_t index, agent::Request request,
                         const gossip::Sender& sender) {
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
                                         gossip::encode(envelope, agent::encode(request)),
                                         {},
                                         sender}});
  }
  return client;
}

void World::say_as_stranger(std::uint32_t to, HostId as, std::string bytes, Duration delay) {
  const auto& known = hosts_[to]->admitted;
  if (std::any_of(known.begin(), known.end(),
                  [&](const auto& each) { return each.second == as; })) {
    say_as(to, member(as), std::move(bytes), delay);
  }
}

void World::say_as(std::uint32_t to, const gossip::Sender& sender, std::string bytes,
                   Duration delay) {
  if (hosts_[to]->node == nullptr) {
    return;
  }
  const Instant when = now_ + (delay == Duration() ? network_.one_way() : delay);
  queue_.push(when, Deliver{to, hosts_[to]->life,
                            gossip::Received{gossip::Route(kStrangerRoute),
                                             gossip::Channel::kControl,
                                             std::move(bytes),
                                             {},
                                             sender}});
}

const std::string& World::link_key(std::uint32_t host) const {
  return hosts_[host]->link_key;
}
const std::map<std::string, HostId>& World::admitted(std::uint32_t host) const {
  return hosts_[host]->admitted;
}

/// Keys are ids, and later ones are made of them (StandInKeyMaker).
std::optional<HostId> World::owner_of_key(const std::string& key) const {
  constexpr std::size_t kNumberBytes = 3;
  for (const auto& host : hosts_) {
    if (key.size() == host->id.bytes().size() &&
        key.substr(kNumberBytes) == host->id.bytes().substr(kNumberBytes)) {
      return host->id;
    }
  }
  return std::nullopt;
}

bool World::is_running(std::uint32_t host) const {
  return hosts_[host]->node != nullptr;
}

bool World::are_all_awake() const {
  return std::all_of(hosts_.begin(), hosts_.end(),
                     [](const auto& host) { return !host->is_frozen && host->node != nullptr; });
}

std::uint64_t World::all_starts() const {
  std::uint64_t starts = 0;
  for (std::uint32_t host = 0; host < size(); ++host) {
    starts += this->starts(host);
  }
  return starts;
}

std::uint32_t World::leader() const {
  std::uint32_t host = 0;
  while (host < size() && !(is_running(host) && node(host).seat().leads())) {
    ++host;
  }
  return host;
}
std::uint32_t World::starts(std::uint32_t host) const {
  return hosts_[host]->life;
}
bool World::is_powered(std::uint32_t host) const {
  return hosts_[host]->is_powered;
}
bool World::is_frozen(std::uint32_t host) const {
  return hosts_[host]->is_frozen;
}

const agent::Node& World::node(std::uint32_t host) const {
  CHECK(is_running(host));
  return *hosts_[host]->node;
}

Instant World::thawed_at(std::uint32_t host) const {
  return hosts_[host]->thawed_at;
}
bool World::was_put_back(std::uint32_t host) const {
  return hosts_[host]->is_put_back;
}
const Disk& World::disk(std::uint32_t host) const {
  return hosts_[host]->disk;
}
const RankFarm& World::farm(std::uint32_t host) const {
  return hosts_[host]->farm;
}
HostId World::id(std::uint32_t host) const {
  return hosts_[host]->id;
}

std::optional<std::uint32_t> World::find(HostId wanted) const {
  for (std::uint32_t i = 0; i < hosts_.size(); ++i) {
    if (hosts_[i]->id == wanted) {
      return i;
    }
  }
  return std::nullopt;
}

}  // namespace muster::sim
