#pragma once
// What a leader may write into its log now. An entry that some voter could not apply would stop
// that voter; of one that Raft drops the scheduler hears nothing, and would wait for the next such
// one. So both are refused before.

#include <string>

#include "scheduler/protocol/entry.h"
#include "scheduler/raft/raft.h"
#include "scheduler/state/state.h"

namespace muster::scheduler {

/// Why the log does not take an entry of this kind, for people; "" when it does. Precondition:
/// `raft` leads.
std::string why_not_taken(Instant now, const Raft& raft, const State& state, EntryKind kind);

}  // namespace muster::scheduler
