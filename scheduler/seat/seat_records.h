#pragma once
// What raft/ says of a seat before anybody sits in it: whether its records can be trusted, and
// whether anything was ever done there.

#include "crdt/disk/write_batch.h"
#include "gossip/base/ids.h"
#include "gossip/base/result.h"

namespace muster::scheduler {

/// kCorrupt: `raft_records` cannot be trusted, or their seat was given up, and this host needs
/// another one. kConflict: they are of a quorum of other hosts, and the agent must not start.
Status check_seat(const crdt::Records& raft_records, HostId self);
/// Nobody voted or wrote a log there: it is that of a host which never voted, or a new seat.
bool is_bare_seat(const crdt::Records& raft_records);
/// A quorum may count on the vote that was given there: this seat votes in the newest configuration
/// of its log, or did at its snapshot. Precondition: check_seat().
bool is_voting_seat(const crdt::Records& raft_records, HostId self);

}  // namespace muster::scheduler
