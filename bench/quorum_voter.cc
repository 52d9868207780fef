#include "bench/quorum_voter.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "crdt/edge/lmdb_store.h"
#include "gossip/base/version.h"
#include "gossip/edge/boot_clock.h"
#include "gossip/edge/link_keys.h"
#include "scheduler/raft/codec.h"

namespace muster::bench {
namespace {

constexpr Duration kTurnMax = std::chrono::seconds(1);
constexpr double kNsAMs = 1e6;
constexpr double kNsAS = 1e9;

std::int64_t now_ns() {
  return boot_now().time_since_epoch().count();
}

void figure(const char* name, double value, const char* unit) {
  std::printf("figure %s %.6g %s\n", name, value, unit);
}

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

std::unique_ptr<crdt::LmdbStore> open_store(const std::string& path, crdt::Environment which) {
  auto store = crdt::LmdbStore::open(path, which);
  if (!store) {
    std::fprintf(stderr, "bench_quorum: %s\n", store.error().text.c_str());
    std::exit(1);
  }
  return std::move(store).value();
}

/// All voters know these keys: nothing here is secret.
gossip::LinkKeys link_of(std::size_t number) {
  return gossip::LinkKeys::from_seed(
      std::string(gossip::kLinkSeedBytes, static_cast<char>('a' + number)));
}

}  // namespace

HostId voter_id(std::size_t number) {
  std::array<std::uint8_t, HostId::kSizeBytes> bytes{};
  bytes.fill(static_cast<std::uint8_t>(0x11 * (number + 1)));
  return HostId(bytes);
}

Voter::Voter(VoterOptions options) : options_(std::move(options)), load_(options_.jobs) {
  open();
}

void Voter::open() {
  for (std::size_t i = 0; i < kVoters; ++i) {
    const auto port = static_cast<std::uint16_t>(options_.base_port + 2 * i);
    endpoints_[i] = gossip::Endpoint::ipv4(127, 0, 0, 1, port);
  }
  gossip::ZmqTransport::Options transport;
  transport.control = endpoints_[options_.self];
  transport.bulk = transport.control;
  ++transport.bulk.port;
  transport.link = link_of(options_.self);
  auto opened = gossip::ZmqTransport::open(transport);
  if (!opened) {
    std::fprintf(stderr, "bench_quorum: %s\n", opened.error().text.c_str());
    std::exit(1);
  }
  transport_ = std::move(opened).value();
  for (std::size_t i = 0; i < kVoters; ++i) {
    if (i != options_.self) {
      const std::string key = link_of(i).public_key;
      transport_->admit({key, {gossip::Sender::Kind::kHost, voter_id(i)}});
      transport_->expect({endpoints_[i], key});
    }
  }
  crdt::StorageThread::Stores stores;
  stores.id = open_store(options_.directory + "/id", crdt::Environment::kId);
  stores.raft = open_store(options_.directory + "/raft", crdt::Environment::kRaft);
  stores.state = open_store(options_.directory + "/state", crdt::Environment::kState);
  storage_ = std::make_unique<crdt::StorageThread>(std::move(stores));
  std::vector<HostId> voters;
  for (std::size_t i = 0; i < kVoters; ++i) {
    voters.push_back(voter_id(i));
  }
  const crdt::Write founders = scheduler::write_of_voters(voters);
  auto log = scheduler::recover_log({{founders.key, *founders.value}}).value();
  raft_ = std::make_unique<scheduler::Raft>(scheduler::RaftConfig{}, voter_id(options_.self),
                                            Rng(options_.self + 1), std::move(log), boot_now());
}

bool Voter::run() {
  bool is_open = true;
  while (broken_.empty() && is_open) {
    turn();
    if (transport_->readable(options_.stop_fd)) {
      is_open = read(options_.stop_fd, &asked_, sizeof asked_) == sizeof asked_ && asked_ != 0;
    }
    answer();
  }
  if (!broken_.empty()) {
    std::fprintf(stderr, "bench_quorum: voter %zu: %s\n", options_.self, broken_.c_str());
  }
  return broken_.empty();
}

/// Reports the digest once the index asked about, the leader's last, is applied here.
void Voter::answer() {
  if (asked_ == 0 || state_.applied().value() < asked_) {
    return;
  }
  asked_ = 0;
  std::printf("digest %016llx voter %zu at %llu cpu %.2f s\n",
              static_cast<unsigned long long>(state_.digest()), options_.self,
              static_cast<unsigned long long>(state_.applied().value()), cpu_seconds());
}

void Voter::turn() {
  const Instant before = boot_now();
  const Instant deadline = raft_->next_deadline();
  const Duration until =
      deadline <= before ? Duration(0) : std::min<Duration>(kTurnMax, deadline - before);
  const std::array<int, 2> fds = {storage_->fd(), options_.stop_fd};
  transport_->wait(until, fds);
  for (gossip::TransportInput& input : transport_->take_inputs()) {
    if (auto* received = std::get_if<gossip::Received>(&input)) {
      receive(std::move(*received));
    }
  }
  for (const std::uint64_t id : storage_->take_completed()) {
    raft_->step(boot_now(), scheduler::Raft::Persisted{id});
    drain();
  }
  if (const auto failure = storage_->failure()) {
    broken(failure->text);
  }
  if (raft_->next_deadline() <= boot_now()) {
    raft_->tick(boot_now());
    drain();
  }
}

void Voter::receive(gossip::Received received) {
  const auto message = gossip::decode(std::move(received.bytes));
  auto raft = message ? scheduler::decode_raft_message(message->envelope().type, message->body())
                      : std::nullopt;
  if (!raft.has_value()) {
    return;
  }
  from_ = message->envelope().from;
  route_ = received.route;
  raft_->step(boot_now(), scheduler::Raft::PeerMessage{from_, *std::move(raft)});
  drain();
  from_ = HostId();
}

void Voter::drain() {
  for (bool more = true; more;) {
    scheduler::Raft::Output output = raft_->take_output();
    for (scheduler::Raft::Persist& persist : output.persists) {
      storage_->submit(persist.id, crdt::Environment::kRaft, std::move(persist.writes));
    }
    for (const scheduler::RaftSend& send : output.messages) {
      carry(send);
    }
    for (const scheduler::CommittedEntry& entry : output.committed) {
      apply(entry);
    }
    if (raft_->halted()) {
      broken("raft halted");
    }
    compact_if_due();
    feed();
    more = !output.committed.empty();
  }
}

void Voter::carry(const scheduler::RaftSend& send) {
  gossip::Envelope envelope;
  envelope.version = kProtocolVersion;
  envelope.type = type_of(send.message);
  envelope.from = voter_id(options_.self);
  envelope.generation = Generation(1);
  std::string bytes = gossip::encode(envelope, encode(send.message));
  if (send.to == from_ && route_.value() != 0) {
    transport_->reply({route_, std::move(bytes)});
    return;
  }
  for (std::size_t i = 0; i < kVoters; ++i) {
    if (send.to == voter_id(i)) {
      transport_->send({endpoints_[i], gossip::Channel::kControl, std::move(bytes)});
      return;
    }
  }
}

void Voter::apply(const scheduler::CommittedEntry& entry) {
  if (entry.kind != scheduler::LogEntryKind::kCommand) {
    state_.skip(entry.index);
    return;
  }
  const auto decoded = scheduler::decode_entry(entry.command);
  if (!decoded) {
    broken(decoded.error().text);
    return;
  }
  const scheduler::ApplyResult result = state_.apply(entry.index, decoded->entry, decoded->unix_ms);
  rejected_ += result.rejected.empty() ? 0 : 1;
  if (proposed_at_.empty()) {
    return;
  }
  if (load_.phase() == GrantLoad::Phase::kDeciding) {
    latencies_.push_back(now_ns() - proposed_at_.front());
    ++grants_;
  }
  proposed_at_.pop_front();
}

void Voter::compact_if_due() {
  const std::uint64_t behind = state_.applied().value() - raft_->snapshot_index().value();
  if (options_.compact_entries != 0 && behind >= options_.compact_entries) {
    raft_->step(boot_now(), scheduler::Raft::Compact{state_.applied(), state_.encode()});
  }
}

/// Proposes entries until `in_flight` of them are open.
void Voter::feed() {
  if (!raft_->leads_with_own_term_applied() || reported_) {
    if (!proposed_at_.empty() && raft_->role() != scheduler::Role::kLeader) {
      broken("the leader changed: the machine is too busy for this bench");
    }
    return;
  }
  while (proposed_at_.size() < options_.in_flight) {
    std::optional<std::string> entry = load_.next();
    if (!entry.has_value()) {
      break;
    }
    bytes_ += load_.phase() == GrantLoad::Phase::kDeciding ? entry->size() : 0;
    proposed_at_.push_back(now_ns());
    raft_->step(boot_now(), scheduler::Raft::Propose{*std::move(entry)});
  }
  if (proposed_at_.empty()) {
    phase_ended();
    if (!reported_) {
      feed();
    }
  }
}

void Voter::phase_ended() {
  const std::int64_t now = now_ns();
  switch (load_.phase()) {
    case GrantLoad::Phase::kPreparing:
      stats_before_ = storage_->stats();
      break;
    case GrantLoad::Phase::kDeciding:
      deciding_ns_ += now - phase_began_;
      ++rounds_;
      break;
    case GrantLoad::Phase::kAborting:
      aborting_ns_ += now - phase_began_;
      break;
  }
  phase_began_ = now;
  if (rounds_ >= options_.rounds) {
    report();
    return;
  }
  load_.turn(state_);
}

void Voter::report() {
  reported_ = true;
  std::sort(latencies_.begin(), latencies_.end());
  const auto quantile = [this](double share) {
    const auto place = static_cast<std::size_t>(share * static_cast<double>(latencies_.size() - 1));
    return static_cast<double>(latencies_[place]) / kNsAMs;
  };
  const crdt::StorageThread::Stats stats = storage_->stats();
  const auto transactions = static_cast<double>(stats.transactions - stats_before_.transactions);
  const double seconds = static_cast<double>(deciding_ns_ + aborting_ns_) / kNsAS;
  const double entries = static_cast<double>(grants_) * (2.0 * rounds_ - 1) / rounds_;
  figure("grants_per_s", static_cast<double>(grants_) * kNsAS / static_cast<double>(deciding_ns_),
         "1/s");
  figure("entries_per_s", entries / seconds, "1/s");
  figure("grant_p50", quantile(0.5), "ms");
  figure("grant_p99", quantile(0.99), "ms");
  figure("grant_max", quantile(1), "ms");
  figure("grant_bytes", static_cast<double>(bytes_) / static_cast<double>(grants_), "B");
  figure("commits_per_s", transactions / seconds, "1/s");
  figure("entries_a_commit", entries / transactions, "count");
  figure("leader_cpu_s", cpu_seconds(), "s");
  if (rejected_ != 0) {
    broken(std::to_string(rejected_) + " entries were rejected");
  }
  std::printf("done %llu\n", static_cast<unsigned long long>(raft_->last_index().value()));
  std::fflush(stdout);
}

void Voter::broken(const std::string& why) {
  broken_ = broken_.empty() ? why : broken_;
}

}  // namespace muster::bench
