#pragma once
// What a host's hello means for the log: the Register that it asks for, and whether that is so
// already. Rules without data; a hello of a host that still runs what a lost quorum had started
// names grants that may be adopted.

#include <vector>

#include "scheduler/protocol/agent_messages.h"
#include "scheduler/protocol/entry.h"
#include "scheduler/state/state.h"

namespace muster::scheduler {

/// Of the agent: the grant may still launch, or runs.
bool is_live_grant(GrantState state);

/// Reports of what may be adopted, and not of what is to end instead. They point into `hello`.
std::vector<const GrantReport*> adoptable_grants(const State& state, const HostId& host,
                                                 const Hello& hello);

/// The entry that makes the log know what this hello says. What an adoptable attempt holds is
/// withheld as if old ranks sat on it, so that nobody else gets it.
entry::Register register_of(const State& state, const HostId& host, const Hello& hello);

/// The log knows all of it: no entry is needed.
bool is_registered_as(const HostRecord& record, const entry::Register& wanted);

}  // namespace muster::scheduler
