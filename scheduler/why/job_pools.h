#pragma once
// The pools that a waiting job is for: those that hosts could hold it in, and those that the limits
// of its queues let it have. Pure functions over the state; part of the answer of why().

#include <string>
#include <vector>

#include "scheduler/placement/capacity.h"
#include "scheduler/state/state.h"

namespace muster::scheduler {

/// The pools that could hold the job if all others ended, by name.
std::vector<std::string> pools_for(Capacity& capacity, const Job& job);
/// The shape of the job, with the GPU types alone for which no max of its queues is too small
/// whatever ends; all of its types if there is no such type.
Shape allowed_shape(const State& state, const Capacity& capacity, const Job& job);

}  // namespace muster::scheduler
