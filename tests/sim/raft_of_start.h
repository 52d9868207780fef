#pragma once
// The part of agent/edge/disk/data_directory that treats raft/ at a start, on a simulated disk.

#include "gossip/base/rng.h"
#include "scheduler/raft/codec.h"
#include "scheduler/seat/seat_records.h"
#include "tests/sim/disk.h"

namespace muster::sim {

/// The records a start finds: of a raft/ that its seat gave up, or of a copy that votes nowhere, an
/// empty one with a new seat.
inline crdt::Records raft_of_start(Disk& disk, HostId self, Rng& rng) {
  const crdt::Records raft = disk.read(crdt::Environment::kRaft);
  const Status sound = scheduler::check_seat(raft, self);
  const bool is_given_up = !sound && sound.error().code == ErrorCode::kCorrupt;
  const bool is_idle_copy = sound && raft.contains(std::string(scheduler::kCopiedKey)) &&
                            !scheduler::is_voting_seat(raft, self);
  if (is_given_up || is_idle_copy) {
    disk.clear(crdt::Environment::kRaft, {scheduler::write_of(SeatId(rng.next() | 1U))});
  }
  return disk.read(crdt::Environment::kRaft);
}

}  // namespace muster::sim
