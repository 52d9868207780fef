#pragma once
// One voter of bench_quorum, in a process of its own: the production Raft, State, storage thread,
// LMDB and ZeroMQ transport, in a loop of the same form as the agent's loop. The voter that leads
// also makes the load, as the scheduler does.

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bench/grant_load.h"
#include "crdt/edge/storage_thread.h"
#include "gossip/edge/zmq_transport.h"
#include "gossip/wire/message.h"
#include "scheduler/raft/raft.h"

namespace muster::bench {

inline constexpr std::size_t kVoters = 3;

struct VoterOptions {
  std::size_t self = 0;
  std::uint16_t base_port = 0;  ///< Port of voter 0; each voter takes two.
  std::string directory;        ///< Of this voter alone.
  std::uint32_t jobs = 10'000;  ///< Jobs decided in each round.
  std::uint32_t rounds = 10;
  std::uint32_t in_flight = 64;
  std::uint64_t compact_entries = 0;  ///< 0 = never.
  int stop_fd = -1;  ///< Gets the index at which to report the digest, then 0 = end.
};

HostId voter_id(std::size_t number);

class Voter {
 public:
  explicit Voter(VoterOptions options);
  /// Runs until told to end. False if something broke; stderr says what.
  bool run();

 private:
  void open();
  void turn();
  void receive(gossip::Received received);
  void drain();
  void carry(const scheduler::RaftSend& send);
  void apply(const scheduler::CommittedEntry& entry);
  void compact_if_due();
  void feed();
  void phase_ended();
  void report();
  void broken(const std::string& why);
  void answer();

  VoterOptions options_;
  std::unique_ptr<gossip::ZmqTransport> transport_;
  std::unique_ptr<crdt::StorageThread> storage_;
  std::unique_ptr<scheduler::Raft> raft_;
  scheduler::State state_;
  GrantLoad load_;
  std::array<gossip::Endpoint, kVoters> endpoints_;
  gossip::Route route_;  ///< The route of the present message.
  HostId from_;
  std::string broken_;
  std::uint64_t asked_ = 0;  ///< Reports the digest of the state once this index is applied.

  // While leading.
  std::deque<std::int64_t> proposed_at_;  ///< Of the entries in flight, in their order.
  std::int64_t phase_began_ = 0;
  std::int64_t deciding_ns_ = 0;
  std::int64_t aborting_ns_ = 0;
  std::uint64_t grants_ = 0;
  std::uint64_t rejected_ = 0;
  std::uint64_t bytes_ = 0;  ///< Of commands proposed while deciding.
  std::uint32_t rounds_ = 0;
  std::vector<std::int64_t> latencies_;  ///< Of grants, in ns.
  crdt::StorageThread::Stats stats_before_;
  bool reported_ = false;
};

}  // namespace muster::bench
