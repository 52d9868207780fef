#include "tests/scheduler/raft/raft_sim.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "gossip/base/check.h"
#include "scheduler/raft/codec.h"
#include "scheduler/raft/quorum.h"

namespace muster::scheduler::sim {
namespace {

using std::chrono::milliseconds;

constexpr Duration kFaultEvery = milliseconds(100);
constexpr Duration kClientEvery = milliseconds(60);
constexpr std::uint64_t kCompactEvery = 40;

std::uint64_t hash_of(std::string_view bytes) {
  std::uint64_t hash = 14695981039346656037U;
  for (const char byte : bytes) {
    hash = (hash ^ static_cast<std::uint8_t>(byte)) * 1099511628211U;
  }
  return hash;
}

}  // namespace

template <class Call>
void RaftSim::observe(Call call) {
  for (const auto& checker : checkers_) {
    call(*checker);
  }
}

RaftSim::RaftSim(std::uint64_t seed) : rng_(seed), checkers_(all_checkers()) {
  const std::size_t founders = 3 + rng_.below(3);
  const std::size_t count = founders + rng_.below(3);
  static constexpr std::uint32_t kLosses[] = {0, 10'000, 50'000, 200'000};
  static constexpr std::int64_t kDelaysMs[] = {3, 30, 200};
  static constexpr std::int64_t kSyncsMs[] = {2, 20, 150};
  static constexpr std::size_t kBatches[] = {1, 2, 1024};
  weather_.loss = kLosses[rng_.below(4)];
  weather_.doubled = kLosses[rng_.below(4)];
  weather_.late = kLosses[rng_.below(4)];
  weather_.crash = static_cast<std::uint32_t>(rng_.below(60'000));
  weather_.cut = static_cast<std::uint32_t>(rng_.below(150'000));
  weather_.reset = static_cast<std::uint32_t>(rng_.below(50'000));
  weather_.delay_max = milliseconds(kDelaysMs[rng_.below(3)]);
  weather_.sync_max = milliseconds(kSyncsMs[rng_.below(3)]);
  weather_.sync_stall = rng_.chance(500'000) ? 10'000 : 0;
  weather_.config.append_entries_max = kBatches[rng_.below(3)];
  weather_.config.entries_kept = 8;
  weather_.config.snapshot_chunk_bytes = 1 + rng_.below(30);
  static constexpr std::uint32_t kChanges[] = {0, 20'000, 300'000};
  weather_.reconfigure = kChanges[rng_.below(3)];
  weather_.transfer = kChanges[rng_.below(2)];
  weather_.lose_disk =
      weather_.reconfigure > 0 ? static_cast<std::uint32_t>(rng_.below(500'000)) : 0;
  for (std::size_t i = 0; i < count; ++i) {
    std::array<std::uint8_t, HostId::kSizeBytes> bytes{};
    bytes[0] = static_cast<std::uint8_t>(i + 1);
    ids_.push_back(HostId(bytes));
  }
  hosts_.resize(count);
  disks_.resize(count);
  cut_.assign(count, std::vector<bool>(count, false));
  for (std::size_t i = 0; i < count; ++i) {
    if (i < founders) {
      const std::vector<HostId> voters(ids_.begin(),
                                       ids_.begin() + static_cast<std::ptrdiff_t>(founders));
      disks_[i].durable.emplace(kVotersKey, *write_of_voters(voters).value);
    } else {
      disks_[i].durable.emplace(kSeatKey, *write_of(SeatId(rng_.next() | 1U)).value);
    }
    start(i);
  }
  schedule({.kind = Kind::kFault}, now_ + kFaultEvery);
  schedule({.kind = Kind::kClient}, now_ + kClientEvery);
}

RaftSim::~RaftSim() = default;

Outcome RaftSim::run() {
  while (outcome_.checker.empty() && !queue_.empty()) {
    Happening happening = queue_.top();
    queue_.pop();
    if (happening.at >= Instant{} + kEndAt) {
      check_liveness();
      break;
    }
    now_ = happening.at;
    if (!calm_ && now_ >= Instant{} + kCalmAt) {
      calm();
    }
    ++outcome_.events;
    handle(happening);
    collect_violation();
  }
  outcome_.committed = highest_applied_.value();
  return outcome_;
}

void RaftSim::schedule(Happening happening, Instant at) {
  happening.at = at;
  happening.order = ++order_;
  queue_.push(std::move(happening));
}

void RaftSim::handle(Happening& happening) {
  mix(static_cast<std::uint64_t>(now_.time_since_epoch().count()));
  mix(static_cast<std::uint64_t>(happening.kind) << 32 | happening.from << 8 | happening.host);
  switch (happening.kind) {
    case Kind::kDeliver:
      deliver(happening);
      return;
    case Kind::kSynced:
      synced(happening);
      return;
    case Kind::kTick: {
      Host& host = hosts_[happening.host];
      if (host.life == happening.life && host.raft.has_value()) {
        host.tick_at = kNever;
        host.raft->tick(now_);
        drain(happening.host);
      }
      return;
    }
    case Kind::kFault:
      fault();
      schedule({.kind = Kind::kFault}, now_ + kFaultEvery);
      return;
    case Kind::kClient:
      client();
      schedule({.kind = Kind::kClient}, now_ + kClientEvery);
      return;
    case Kind::kRestart:
      if (!hosts_[happening.host].raft.has_value()) {
        start(happening.host);
      }
      return;
  }
}

void RaftSim::deliver(const Happening& happening) {
  Host& host = hosts_[happening.host];
  if (!host.raft.has_value() || cut_[happening.from][happening.host]) {
    return;
  }
  mix(hash_of(happening.bytes));
  const Result<gossip::Document> document = gossip::Document::parse(happening.bytes);
  CHECK(document.has_value());
  const auto message = decode_raft_message(happening.type, document->root());
  CHECK(message.has_value());
  host.raft->step(now_, Raft::PeerMessage{ids_[happening.from], *message});
  const bool request = std::holds_alternative<AppendRequest>(*message) ||
                       std::holds_alternative<SnapshotChunk>(*message);
  const bool followed =
      request && host.raft->leader() == ids_[happening.from] &&
      std::visit([](const auto& body) { return body.term; }, *message) == host.raft->term();
  observe(
      [&](Checker& checker) { checker.on_delivered(view(), happening.host, *message, followed); });
  drain(happening.host);
}

void RaftSim::synced(const Happening& happening) {
  Host& host = hosts_[happening.host];
  if (host.life != happening.life || !host.raft.has_value()) {
    return;
  }
  CHECK(!disks_[happening.host].pending.empty());
  const std::uint64_t id = disks_[happening.host].pending.front().id;
  make_durable(happening.host);
  step(happening.host, Raft::Persisted{id});
}

void RaftSim::make_durable(std::size_t host) {
  Disk& disk = disks_[host];
  const Raft::Persist persist = std::move(disk.pending.front());
  disk.pending.pop_front();
  for (const crdt::Write& write : persist.writes) {
    if (write.value.has_value()) {
      disk.durable[write.key] = *write.value;
    } else {
      disk.durable.erase(write.key);
    }
  }
  observe([&](Checker& checker) { checker.on_durable(view(), host, persist.writes); });
}

/// Asks every host that believes it leads to propose and to read: a deposed leader must not answer.
void RaftSim::client() {
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    if (!hosts_[i].raft.has_value() || hosts_[i].raft->role() != Role::kLeader) {
      continue;
    }
    const std::uint64_t context = ++next_read_;
    observe([&](Checker& checker) { checker.on_read(view(), context); });
    step(i, Raft::Read{context});
    if (rng_.chance(500'000)) {
      step(i, Raft::Propose{"command " + std::to_string(++next_command_)});
    }
    if (!calm_ && rng_.chance(weather_.reconfigure)) {
      reconfigure(i);
    }
    if (!calm_ && rng_.chance(weather_.transfer)) {
      ++outcome_.transfers;
      step(i, Raft::Transfer{rng_.chance(500'000) ? HostId() : ids_[rng_.below(ids_.size())]});
    }
  }
}

/// One step drawn at random, sensible or not: the machine must refuse what is not safe.
void RaftSim::reconfigure(std::size_t leader) {
  const Configuration now = hosts_[leader].raft->configuration();
  const std::size_t host = rng_.below(ids_.size());
  Configuration next = now;
  if (now.learner(ids_[host]) != nullptr) {
    next = rng_.chance(800'000) ? now.with_promoted(ids_[host]) : now.without(ids_[host]);
  } else if (now.voter(ids_[host]) == nullptr) {
    next = now.with_learner({ids_[host], seat_of(host)});
  } else if (now.voters.size() > 2 || rng_.chance(100'000)) {
    next = now.without(ids_[host]);
  }
  if (next != now) {
    step(leader, Raft::Reconfigure{std::move(next)});
  }
}

SeatId RaftSim::seat_of(std::size_t host) const {
  return recover_log(disks_[host].durable)->seat;
}

/// Promises hold while every quorum misses at most one disk: each configuration that a host still
/// goes by has three voters, and all but this host sit in the seats that it names.
bool RaftSim::may_lose_disk(std::size_t host) const {
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    if (!hosts_[i].raft.has_value()) {
      return false;
    }
    const Configuration& configuration = hosts_[i].raft->configuration();
    if (configuration.voters.empty()) {
      continue;
    }
    for (const Seat& seat : configuration.voters) {
      const std::size_t voter = index_of(seat.host);
      if (voter != host && seat_of(voter) != seat.id) {
        return false;
      }
    }
    if (configuration.voters.size() < 3) {
      return false;
    }
  }
  return true;
}

void RaftSim::lose_disk(std::size_t host) {
  ++outcome_.lost_disks;
  crash(host);
  disks_[host].durable.clear();
  disks_[host].durable.emplace(kSeatKey, *write_of(SeatId(rng_.next() | 1U)).value);
}

void RaftSim::fault() {
  if (calm_) {
    return;
  }
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    // Leaders die oftener: their deaths are the interesting ones.
    const bool leads = hosts_[i].raft.has_value() && hosts_[i].raft->role() == Role::kLeader;
    if (hosts_[i].raft.has_value() && rng_.chance(leads ? 3 * weather_.crash : weather_.crash)) {
      crash(i);
    }
  }
  if (const std::size_t victim = rng_.below(hosts_.size());
      rng_.chance(weather_.lose_disk) && may_lose_disk(victim)) {
    lose_disk(victim);
  }
  if (rng_.chance(weather_.reset)) {
    for (const HostId& leader : ids_) {
      reset_links(leader, 600'000);
    }
  }
  if (rng_.chance(weather_.cut)) {
    toggle_cut();
  }
  if (rng_.chance(weather_.cut)) {
    for (auto& row : cut_) {
      std::fill(row.begin(), row.end(), false);
    }
  }
}

void RaftSim::toggle_cut() {
  std::size_t victim = rng_.below(hosts_.size());
  for (std::size_t i = 0; i < hosts_.size() && rng_.chance(700'000); ++i) {
    // A leader that is cut off and does not know it is the case that matters most.
    victim = hosts_[i].raft.has_value() && hosts_[i].raft->role() == Role::kLeader ? i : victim;
  }
  const std::uint64_t shape = rng_.below(4);
  for (std::size_t other = 0; other < hosts_.size(); ++other) {
    if (other == victim || (shape == 3 && rng_.chance(500'000))) {
      continue;
    }
    cut_[victim][other] = cut_[victim][other] || shape != 1;  // Shape 1: it only does not hear.
    cut_[other][victim] = cut_[other][victim] || shape != 2;  // Shape 2: it is only not heard.
  }
  if (rng_.chance(500'000)) {
    reset_links(ids_[victim], 1'000'000);
  }
}

void RaftSim::calm() {
  calm_ = true;
  weather_.loss = 0;
  weather_.late = 0;
  weather_.doubled = 0;
  weather_.sync_stall = 0;
  weather_.delay_max = milliseconds(3);
  weather_.sync_max = milliseconds(3);
  for (auto& row : cut_) {
    std::fill(row.begin(), row.end(), false);
  }
  applied_at_calm_ = highest_applied_;
}

void RaftSim::crash(std::size_t host) {
  ++outcome_.crashes;
  Host& down = hosts_[host];
  const bool led = down.raft->role() == Role::kLeader;
  down.raft.reset();
  ++down.life;
  // Some of the writes under way may have reached the disk, in order; the rest is lost.
  for (std::uint64_t kept = rng_.below(disks_[host].pending.size() + 1); kept > 0; --kept) {
    make_durable(host);
  }
  disks_[host].pending.clear();
  schedule({.kind = Kind::kRestart, .host = host},
           now_ + rng_.between(milliseconds(1), milliseconds(3000)));
  if (led && rng_.chance(500'000)) {
    reset_links(ids_[host], 1'000'000);
  }
}

void RaftSim::reset_links(HostId leader, std::uint32_t chance) {
  for (std::size_t other = 0; other < hosts_.size(); ++other) {
    if (hosts_[other].raft.has_value() && rng_.chance(chance)) {
      observe([&](Checker& checker) { checker.on_forgets_leader(view(), other); });
      step(other, Raft::LeaderLinkReset{leader});
    }
  }
}

void RaftSim::start(std::size_t host) {
  Result<RecoveredLog> log = recover_log(disks_[host].durable);
  CHECK(log.has_value());
  Host& up = hosts_[host];
  up.life += 1;
  up.tick_at = kNever;
  up.disk_free_at = now_;
  up.applied = LogIndex();
  up.digest = 0;
  up.raft.emplace(weather_.config, ids_[host], rng_.fork(), std::move(log).value(), now_);
  observe([&](Checker& checker) { checker.on_forgets_leader(view(), host); });
  drain(host);
}

void RaftSim::step(std::size_t host, Raft::Input input) {
  hosts_[host].raft->step(now_, std::move(input));
  drain(host);
}

void RaftSim::drain(std::size_t host) {
  Host& up = hosts_[host];
  up.raft->check_invariants();
  Raft::Output output = up.raft->take_output();
  for (Raft::Persist& persist : output.persists) {
    write(host, std::move(persist));
  }
  for (const Event& event : output.events) {
    outcome_.elections += event.name == "leader_elected" ? 1 : 0;
    outcome_.reconfigurations += event.name == "configuration_changed" ? 1 : 0;
    outcome_.snapshots += event.name == "snapshot_installed" ? 1 : 0;
    if (std::getenv("MUSTER_TRACE") != nullptr) {
      std::printf("%.3f host %zu %s | %s\n",
                  static_cast<double>(to_ms(now_.time_since_epoch())) / 1000, host,
                  event.text().c_str(), describe(host).c_str());
    }
    observe([&](Checker& checker) { checker.on_event(view(), host, event); });
  }
  apply(host, output);
  for (const RaftSend& send : output.messages) {
    post(host, send);
  }
  maybe_compact(host);
  const Instant deadline = std::max(up.raft->next_deadline(), now_);
  if (deadline < up.tick_at) {
    up.tick_at = deadline;
    schedule({.kind = Kind::kTick, .host = host, .life = up.life}, deadline);
  }
}

void RaftSim::apply(std::size_t host, const Raft::Output& output) {
  Host& up = hosts_[host];
  if (output.install.has_value()) {
    up.applied = output.install->at.index;
    up.digest = std::stoull(output.install->state);
  }
  for (const CommittedEntry& entry : output.committed) {
    CHECK(entry.index == up.applied.next());
    up.applied = entry.index;
    up.digest = mix64(up.digest ^ hash_of(entry.command) ^ entry.term.value());
    observe([&](Checker& checker) {
      checker.on_applied(view(), host,
                         {entry.index, entry.term, entry.kind, entry.command, up.digest});
    });
    highest_applied_ = std::max(highest_applied_, entry.index);
  }
  for (const ConfirmedRead& read : output.reads) {
    ++outcome_.reads;
    observe([&](Checker& checker) { checker.on_confirmed(view(), read); });
  }
}

void RaftSim::maybe_compact(std::size_t host) {
  Host& up = hosts_[host];
  if (up.applied.value() >= up.raft->snapshot_index().value() + kCompactEvery) {
    up.raft->step(now_, Raft::Compact{up.applied, std::to_string(up.digest)});
    drain(host);
  }
}

void RaftSim::post(std::size_t from, const RaftSend& send) {
  const std::size_t to = index_of(send.to);
  observe([&](Checker& checker) { checker.on_sent(view(), from, to, send.message); });
  if (rng_.chance(weather_.loss)) {
    return;
  }
  const int copies = rng_.chance(weather_.doubled) ? 2 : 1;
  for (int copy = 0; copy < copies; ++copy) {
    const bool late = rng_.chance(weather_.late);
    const Duration delay = late ? rng_.between(milliseconds(500), milliseconds(5000))
                                : rng_.between(milliseconds(1), weather_.delay_max);
    schedule({.kind = Kind::kDeliver,
              .host = to,
              .from = from,
              .type = type_of(send.message),
              .bytes = encode(send.message)},
             now_ + delay);
  }
}

void RaftSim::write(std::size_t host, Raft::Persist persist) {
  Host& up = hosts_[host];
  const bool stall = rng_.chance(weather_.sync_stall);
  const Duration took =
      stall ? milliseconds(2000) : rng_.between(milliseconds(1), weather_.sync_max);
  up.disk_free_at = std::max(up.disk_free_at, now_) + took;
  disks_[host].pending.push_back(std::move(persist));
  schedule({.kind = Kind::kSynced, .host = host, .life = up.life}, up.disk_free_at);
}

std::size_t RaftSim::index_of(HostId host) const {
  const auto at = std::lower_bound(ids_.begin(), ids_.end(), host);
  CHECK(at != ids_.end() && *at == host);
  return static_cast<std::size_t>(at - ids_.begin());
}

void RaftSim::collect_violation() {
  for (const auto& checker : checkers_) {
    if (checker->violation().has_value() && outcome_.checker.empty()) {
      outcome_.checker = checker->name();
      outcome_.text = *checker->violation();
    }
  }
}

std::string RaftSim::describe(std::size_t host) const {
  if (!hosts_[host].raft.has_value()) {
    return "host " + std::to_string(host) + " is down";
  }
  const Raft& raft = *hosts_[host].raft;
  std::string text = "host " + std::to_string(host) + " " + std::string(text_of(raft.role())) +
                     " term " + std::to_string(raft.term().value()) + " commit " +
                     std::to_string(raft.commit().value()) + " last " +
                     std::to_string(raft.last_index().value()) + " voters";
  for (const Seat& seat : raft.configuration().voters) {
    const std::size_t voter = index_of(seat.host);
    text += " " + std::to_string(voter) + (seat_of(voter) == seat.id ? "" : "(lost)");
  }
  return text;
}

/// The voters of the longest log lost a majority of their disks: one of them was emptied, and
/// before its leader could know, another that lived was removed. No protocol recovers from that by
/// itself.
bool RaftSim::is_quorum_lost() const {
  LogPosition longest;
  Configuration configuration;
  for (const Disk& disk : disks_) {
    RecoveredLog recovered = recover_log(disk.durable).value();
    const RaftLog reread(recovered);
    if (reread.up_to_date(longest)) {
      continue;
    }
    longest = reread.last();
    configuration = reread.configuration();
  }
  const auto live =
      std::count_if(configuration.voters.begin(), configuration.voters.end(),
                    [&](const Seat& seat) { return seat_of(index_of(seat.host)) == seat.id; });
  return static_cast<std::size_t>(live) < majority_of(configuration.voters.size());
}

/// Faults stopped ten seconds ago, their last late message came five seconds ago: one leader, new
/// entries committed, nobody far behind.
void RaftSim::check_liveness() {
  std::size_t leaders = 0;
  Configuration configuration;
  for (const Host& host : hosts_) {
    if (host.raft.has_value() && host.raft->role() == Role::kLeader) {
      ++leaders;
      configuration = host.raft->configuration();
    }
  }
  if (leaders == 0 && is_quorum_lost()) {
    ++outcome_.quorums_lost;
    return;
  }
  std::uint64_t slowest = UINT64_MAX;
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    if (configuration.has_voter({ids_[i], seat_of(i)})) {
      slowest = std::min(slowest, hosts_[i].applied.value());
    }
  }
  const bool progress = slowest > applied_at_calm_.value();
  if (leaders != 1 || !progress) {
    outcome_.checker = "liveness";
    outcome_.text = std::to_string(leaders) + " leaders; slowest applied " +
                    std::to_string(slowest) + ", highest when faults stopped " +
                    std::to_string(applied_at_calm_.value());
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
      outcome_.text += "\n  " + describe(i);
    }
  }
}

}  // namespace muster::scheduler::sim
