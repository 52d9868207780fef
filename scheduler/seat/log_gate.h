#pragma once
// The rule for the entries that a leader may write into its log now. An entry that a voter cannot
// apply would stop that voter. The scheduler does not hear of an entry that Raft drops, and would
// wait for the next one. Therefore the leader refuses both before.

#include <cstdint>
#include <string>

#include "scheduler/protocol/entry.h"
#include "scheduler/raft/raft.h"
#include "scheduler/state/state.h"

namespace muster::scheduler {

/// Why the log does not take an entry that needs this level, for people; "" if it does.
/// Precondition: `raft` leads.
std::string why_not_taken(Instant now, const Raft& raft, const State& state, std::uint64_t level);
inline std::string why_not_taken(Instant now, const Raft& raft, const State& state,
                                 EntryKind kind) {
  return why_not_taken(now, raft, state, level_needed(kind));
}

}  // namespace muster::scheduler
