#pragma once
// The rule for the entries that a leader may write into its log now. An entry that a voter cannot
// apply would stop that voter. The scheduler does not hear of an entry that Raft drops, and would
// wait for the next one. Therefore the leader refuses both before.

#include <string>

#include "scheduler/protocol/entry.h"
#include "scheduler/raft/raft.h"
#include "scheduler/state/state.h"

namespace muster::scheduler {

/// Why the log does not take an entry of this kind, for people; "" if it does. Precondition: `raft`
/// leads.
std::string why_not_taken(Instant now, const Raft& raft, const State& state, EntryKind kind);

}  // namespace muster::scheduler
