#pragma once
// RaftSim: a small deterministic world for Raft: virtual time, a network that delays, loses,
// doubles, reorders and cuts (either way), disks that finish late and lose unsynced writes, hosts
// that crash and restart, some of them on an empty disk. A host that believes it leads is asked to
// propose, to read, to change the voters and to hand over. Every message passes the real codec,
// every write the real batch. Faults stop at kCalmAt; at the end the cluster must have one leader
// and have committed since.

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <queue>
#include <string>
#include <vector>

#include "gossip/base/rng.h"
#include "gossip/wire/message.h"
#include "scheduler/raft/raft.h"
#include "tests/scheduler/raft/checkers.h"

namespace muster::scheduler::sim {

inline constexpr Duration kCalmAt = std::chrono::seconds(20);
inline constexpr Duration kEndAt = std::chrono::seconds(30);

struct Outcome {
  std::string checker;  ///< Empty if no checker was violated.
  std::string text;
  std::uint64_t hash = 0;  ///< Over every event in order: same seed, same hash.
  std::uint64_t events = 0;
  std::uint64_t committed = 0;
  std::uint64_t elections = 0;
  std::uint64_t crashes = 0;
  std::uint64_t reads = 0;
  std::uint64_t snapshots = 0;
  std::uint64_t reconfigurations = 0;
  std::uint64_t transfers = 0;
  std::uint64_t lost_disks = 0;
  std::uint64_t quorums_lost = 0;
};

class RaftSim {
 public:
  explicit RaftSim(std::uint64_t seed);
  ~RaftSim();
  /// Runs one schedule to its end or to its first violation.
  Outcome run();

 private:
  enum class Kind : std::uint8_t { kDeliver, kSynced, kTick, kFault, kClient, kRestart };
  struct Happening {
    Instant at{};
    std::uint64_t order = 0;
    Kind kind = Kind::kTick;
    std::size_t host = 0;
    std::size_t from = 0;
    std::uint64_t life = 0;  ///< kSynced, kTick: void if the host crashed since.
    gossip::MessageType type{};
    std::string bytes{};
  };
  struct Later {
    bool operator()(const Happening& a, const Happening& b) const {
      return a.at != b.at ? a.at > b.at : a.order > b.order;
    }
  };
  struct Host {
    std::optional<Raft> raft;
    std::uint64_t life = 0;
    Instant tick_at = kNever;
    Instant disk_free_at;
    LogIndex applied;
    std::uint64_t digest = 0;
  };
  /// The chances and limits of this world, drawn once a schedule.
  struct Weather {
    std::uint32_t loss = 0;  ///< Per million, as all chances.
    std::uint32_t doubled = 0;
    std::uint32_t late = 0;
    std::uint32_t crash = 0;
    std::uint32_t cut = 0;
    std::uint32_t reset = 0;
    std::uint32_t reconfigure = 0;
    std::uint32_t transfer = 0;
    std::uint32_t lose_disk = 0;
    Duration delay_max{0};
    Duration sync_max{0};
    std::uint32_t sync_stall = 0;
    RaftConfig config;
  };

  void schedule(Happening happening, Instant at);
  void handle(Happening& happening);
  void deliver(const Happening& happening);
  void synced(const Happening& happening);
  void client();
  void reconfigure(std::size_t leader);
  bool may_lose_disk(std::size_t host) const;
  void lose_disk(std::size_t host);
  bool is_quorum_lost() const;
  std::string describe(std::size_t host) const;
  SeatId seat_of(std::size_t host) const;
  void fault();
  void toggle_cut();
  void calm();
  void crash(std::size_t host);
  void reset_links(HostId leader, std::uint32_t chance);
  void start(std::size_t host);
  void step(std::size_t host, Raft::Input input);
  void drain(std::size_t host);
  void apply(std::size_t host, const Raft::Output& output);
  void post(std::size_t from, const RaftSend& send);
  void write(std::size_t host, Raft::Persist persist);
  void make_durable(std::size_t host);
  void maybe_compact(std::size_t host);
  void collect_violation();
  void check_liveness();
  std::size_t index_of(HostId host) const;
  View view() const { return {now_, ids_, disks_}; }
  template <class Call>
  void observe(Call call);
  void mix(std::uint64_t value) { outcome_.hash = mix64(outcome_.hash ^ value); }

  Rng rng_;
  Weather weather_;
  Instant now_{};
  bool calm_ = false;
  std::uint64_t order_ = 0;
  std::uint64_t next_command_ = 0;
  std::uint64_t next_read_ = 0;
  LogIndex highest_applied_;
  LogIndex applied_at_calm_;
  std::vector<HostId> ids_;
  std::vector<Host> hosts_;
  std::vector<Disk> disks_;
  std::vector<std::vector<bool>> cut_;  ///< [from][to]
  std::vector<std::unique_ptr<Checker>> checkers_;
  std::priority_queue<Happening, std::vector<Happening>, Later> queue_;
  Outcome outcome_;
};

}  // namespace muster::scheduler::sim
