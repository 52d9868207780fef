#pragma once
// Quorum recovery: a quorum that lost its majority for good goes on from one log, by an operator's
// order, under a higher epoch. Entries that the lost voters had committed beyond that log are gone.
// The attempts that those entries began on hosts run on, and are adopted (State::begin_epoch).
// Rules without fields; QuorumSeat carries them out.

#include "crdt/disk/write_batch.h"
#include "gossip/base/event.h"
#include "scheduler/raft/raft.h"
#include "scheduler/raft/types.h"
#include "scheduler/state/state.h"

namespace muster::scheduler {

/// The position from which a quorum would go on with this host's log alone.
struct RecoveryPlan {
  ClusterEpoch epoch;  ///< Of the log.
  LogPosition last;    ///< Its end: the host with the highest term, then index, has the most.
  LogIndex commit;     ///< Known to be committed up to here.
  bool operator==(const RecoveryPlan&) const = default;
};

/// The log of `raft`, its uncommitted end included, as one snapshot under `next` and `term`, still
/// without a seat and voters. `state` is the applied part of it. kCorrupt: it holds an entry that
/// this version cannot apply. kUnavailable: it is too large for a snapshot. `verifier` verifies the
/// signatures of persons in it, as it does in the seat.
Result<RecoveredLog> continued_log(const Raft& raft, const State& state, const ClusterEpoch& next,
                                   Term term, const gossip::Verifier* verifier);

/// The writes after which raft/, as `raft` wrote it, holds `log` alone: one transaction.
crdt::WriteBatch replaced_by(const Raft& raft, const RecoveredLog& log);

/// For people: `raft` goes on as `log`.
Event recovered_event(const Raft& raft, const RecoveredLog& log);

}  // namespace muster::scheduler
