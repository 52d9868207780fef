#pragma once
// The conditions of a job or array, as a client is told. Pure.

#include "agent/api/jobs.h"
#include "scheduler/state/state.h"

namespace muster::agent {

/// Of a job that has ended it says the conditions alone, not how the jobs of them stand.
WaitInfo wait_info(const scheduler::State& state, const scheduler::Job& job);
WaitInfo wait_info(const scheduler::State& state, const scheduler::TaskArray& array);
/// Whether the array waits as a whole.
bool is_waiting(const scheduler::TaskArray& array);

}  // namespace muster::agent
