#pragma once
// The check for requests that no host, or not all hosts together, could ever give, whichever jobs
// end or hosts come back. For people, before the log takes a job that would wait for ever. Reads
// the same facts as placement.

#include <string>

#include "scheduler/placement/capacity.h"

namespace muster::scheduler {

/// Why the request is impossible, for people; "" = it is possible. All hosts that have not left
/// count, in any state.
std::string why_impossible(const State& state, Capacity& capacity, const JobSpec& spec);

}  // namespace muster::scheduler
