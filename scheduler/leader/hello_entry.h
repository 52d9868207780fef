#pragma once
// Pure rules for a host's hello: the Register that it asks for, and whether the log has it already.
// A hello of a host that still runs attempts of a lost quorum names the grants to adopt.

#include <vector>

#include "scheduler/protocol/agent_messages.h"
#include "scheduler/protocol/entry.h"
#include "scheduler/state/state.h"

namespace muster::scheduler {

/// True if the grant may still launch, or runs.
bool is_live_grant(GrantState state);

/// Reports of the grants that may be adopted, without those that shall end. They point into
/// `hello`.
std::vector<const GrantReport*> adoptable_grants(const State& state, const HostId& host,
                                                 const Hello& hello);

/// The entry that logs the contents of this hello. The GPUs of an adoptable attempt are withheld as
/// if old ranks sat on them, so that no other attempt gets them.
entry::Register register_of(const State& state, const HostId& host, const Hello& hello);

/// True if the log knows all of it: no entry is needed.
bool is_registered_as(const HostRecord& record, const entry::Register& wanted);

}  // namespace muster::scheduler
