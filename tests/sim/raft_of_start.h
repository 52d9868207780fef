#pragma once
// What agent/edge/disk/data_directory does to raft/ at a start, on a simulated disk.

#include "gossip/base/rng.h"
#include "scheduler/raft/codec.h"
#include "scheduler/seat/seat_records.h"
#include "tests/sim/disk.h"

namespace muster::sim {

/// The records a start finds: of a raft/ that its seat gave up, an empty one with a new seat.
inline crdt::Records raft_of_start(Disk& disk, HostId self, Rng& rng) {
  const Status sound = scheduler::check_seat(disk.read(crdt::Environment::kRaft), self);
  if (!sound && sound.error().code == ErrorCode::kCorrupt) {
    disk.begin_anew(crdt::Environment::kRaft, {scheduler::write_of(SeatId(rng.next() | 1U))});
  }
  return disk.read(crdt::Environment::kRaft);
}

}  // namespace muster::sim
