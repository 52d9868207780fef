// Puts years of work behind a voter: bench_age DATA --jobs N [--jobs-a-day N] [--tail N]. DATA is
// the data directory of an agent that was the only voter of its cluster and has stopped. Every job
// is submitted, decided, started and finished through the real Raft and State into DATA/raft, with
// compaction as in an agent; `tail` entries stay behind the last snapshot. It syncs only at the
// end.

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "bench/grant_load.h"
#include "crdt/edge/lmdb_store.h"
#include "scheduler/raft/codec.h"
#include "scheduler/raft/raft.h"

namespace {

using muster::Duration;
using muster::Instant;
namespace bench = muster::bench;
namespace crdt = muster::crdt;
namespace scheduler = muster::scheduler;

constexpr std::uint32_t kGpus = 512;
constexpr std::uint32_t kEntriesAJob = 5;
constexpr std::uint64_t kCompactEvery = 200'000;
constexpr std::uint64_t kProposalsAtOnce = 1'000;
constexpr std::uint64_t kSecondsADay = 86'400;

struct Options {
  std::string data;
  std::uint64_t jobs = 1'000'000;
  std::uint64_t jobs_a_day = 100'000;
  std::uint64_t tail = 19'000;
};

class Ager {
 public:
  Ager(Options options, std::unique_ptr<crdt::LmdbStore> store, muster::HostId self,
       scheduler::RecoveredLog log)
      : options_(std::move(options)), store_(std::move(store)), load_(kGpus) {
    raft_ = std::make_unique<scheduler::Raft>(scheduler::RaftConfig{}, self, muster::Rng(1),
                                              std::move(log), now_);
  }

  bool run() {
    drain();
    while (!raft_->leads_with_own_term_applied()) {
      now_ = raft_->next_deadline();
      raft_->tick(now_);
      drain();
    }
    while (auto entry = load_.next_host()) {
      propose(*std::move(entry));
    }
    for (std::uint64_t job = 0; job < options_.jobs; ++job) {
      live_one(job);
    }
    drain();
    report();
    return rejected_ == 0 && store_->sync().has_value();
  }

 private:
  /// The whole life of one job. Only this leader writes, so the index of each entry is known.
  void live_one(std::uint64_t job) {
    const auto id = muster::JobId(first_job_ + job);
    const auto gpu = static_cast<std::uint32_t>(job % kGpus);
    const std::uint64_t before = bytes_;
    propose(load_.submit(job));
    const muster::Token token{1, raft_->last_index().value() + 1};
    for (std::string& entry : load_.life_of(id, gpu, token)) {
      propose(std::move(entry));
    }
    job_bytes_ += bytes_ - before;
    cluster_time_ += Duration(std::chrono::seconds(kSecondsADay)) / options_.jobs_a_day;
    if (cluster_time_ - ticked_ > std::chrono::minutes(30)) {
      propose(scheduler::encode(scheduler::Entry(scheduler::entry::Tick{cluster_time_ - ticked_})));
      ticked_ = cluster_time_;
    }
    const std::uint64_t left = (options_.jobs - job) * kEntriesAJob;
    const std::uint64_t behind = state_.applied().value() - raft_->snapshot_index().value();
    if (!last_compaction_ && (behind >= kCompactEvery || left <= options_.tail)) {
      last_compaction_ = left <= options_.tail;
      drain();
      std::string snapshot = state_.encode();
      snapshot_bytes_ = snapshot.size();
      raft_->step(now_, scheduler::Raft::Compact{state_.applied(), std::move(snapshot)});
      drain();
    }
  }

  void propose(std::string entry) {
    bytes_ += entry.size();
    raft_->step(now_, scheduler::Raft::Propose{std::move(entry)});
    if (++proposed_ % kProposalsAtOnce == 0) {
      drain();
    }
  }

  void drain() {
    for (bool more = true; more;) {
      scheduler::Raft::Output output = raft_->take_output();
      more = !output.persists.empty();
      for (const scheduler::Raft::Persist& persist : output.persists) {
        if (!store_->commit(persist.writes)) {
          std::fprintf(stderr, "bench_age: the disk failed\n");
          std::exit(1);
        }
      }
      if (output.install.has_value()) {
        state_ = scheduler::State::decode(output.install->state).value();
      }
      for (const scheduler::CommittedEntry& entry : output.committed) {
        apply(entry);
      }
      if (more) {
        raft_->step(now_, scheduler::Raft::Persisted{output.persists.back().id});
      }
    }
  }

  void apply(const scheduler::CommittedEntry& entry) {
    if (entry.kind != scheduler::LogEntryKind::kCommand) {
      state_.skip(entry.index);
      return;
    }
    const auto logged = scheduler::decode_entry(entry.command).value();
    const auto result = state_.apply(entry.index, logged.entry, logged.unix_ms);
    rejected_ += result.rejected.empty() ? 0 : 1;
    if (rejected_ == 1 && !result.rejected.empty()) {
      std::fprintf(stderr, "bench_age: rejected: %s\n", result.rejected.c_str());
    }
  }

  void report() const {
    const auto jobs = static_cast<double>(options_.jobs);
    // Key, seal and the entry's own frame, as write_batch and the codec of raft write them.
    const std::uint64_t frame = 12 + 9 + 6;
    std::printf("figure log_bytes_per_job %.0f B\n",
                static_cast<double>(job_bytes_ + options_.jobs * kEntriesAJob * frame) / jobs);
    std::printf("figure snapshot_bytes %llu B\n", static_cast<unsigned long long>(snapshot_bytes_));
    std::printf("figure log_entries_behind_snapshot %llu count\n",
                static_cast<unsigned long long>(raft_->last_index().value() -
                                                raft_->snapshot_index().value()));
  }

  Options options_;
  std::unique_ptr<crdt::LmdbStore> store_;
  bench::GrantLoad load_;
  std::unique_ptr<scheduler::Raft> raft_;
  scheduler::State state_;
  Instant now_{std::chrono::seconds(1)};
  Duration cluster_time_{0};
  Duration ticked_{0};
  std::uint64_t first_job_ = 1;
  std::uint64_t proposed_ = 0;
  std::uint64_t rejected_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t job_bytes_ = 0;
  std::uint64_t snapshot_bytes_ = 0;
  bool last_compaction_ = false;
};

std::vector<muster::HostId> voters_in(const std::string& bytes) {
  const auto document = muster::gossip::Document::parse(bytes);
  if (!document) {
    return {};
  }
  muster::gossip::Reader in = document->root();
  return scheduler::read_voters(in);
}

int age(const Options& options) {
  auto store = crdt::LmdbStore::open(
      options.data + "/raft", crdt::Environment::kRaft,
      {.map_bytes = crdt::LmdbStore::defaults(crdt::Environment::kRaft).map_bytes, .sync = false});
  if (!store) {
    std::fprintf(stderr, "bench_age: %s\n", store.error().text.c_str());
    return 1;
  }
  const crdt::Records records = (*store)->recovered();
  auto log = scheduler::recover_log(records);
  const auto founders = records.find(std::string(scheduler::kVotersKey));
  const auto voters =
      founders == records.end() ? std::vector<muster::HostId>() : voters_in(founders->second);
  if (!log || voters.size() != 1) {
    std::fprintf(stderr, "bench_age: %s holds no single voter's log\n", options.data.c_str());
    return 1;
  }
  Ager ager(options, std::move(store).value(), voters.front(), std::move(log).value());
  return ager.run() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (argc < 2 || argc % 2 != 0) {
    std::fprintf(stderr, "usage: see the head of bench/age.cc\n");
    return 2;
  }
  options.data = argv[1];
  for (int i = 2; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    const std::uint64_t value = std::strtoull(argv[i + 1], nullptr, 10);
    if (name == "--jobs") {
      options.jobs = value;
    } else if (name == "--jobs-a-day" && value > 0) {
      options.jobs_a_day = value;
    } else if (name == "--tail") {
      options.tail = value;
    } else {
      return 2;
    }
  }
  return age(options);
}
