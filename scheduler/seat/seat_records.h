#pragma once
// Checks of the records of raft/ before a host takes the seat: whether they can be trusted, and
// whether the seat was ever used.

#include "crdt/disk/write_batch.h"
#include "gossip/base/ids.h"
#include "gossip/base/result.h"

namespace muster::scheduler {

/// kCorrupt: `raft_records` cannot be trusted, or their seat was given up; this host needs another
/// seat. kConflict: they belong to a quorum of other hosts; the agent must not start.
Status check_seat(const crdt::Records& raft_records, HostId self);
/// The seat holds no vote and no log: its host never voted, or the seat is new.
bool is_bare_seat(const crdt::Records& raft_records);
/// A quorum may count on a vote of this seat: it votes in the newest configuration of its log, or
/// did at its snapshot. Precondition: check_seat().
bool is_voting_seat(const crdt::Records& raft_records, HostId self);

}  // namespace muster::scheduler
