#pragma once
// What of a request no host, or not all hosts together, could ever give, whoever ends or comes
// back. For people, before a job is taken that would wait for ever. Reads what placement reads.

#include <string>

#include "scheduler/placement/capacity.h"

namespace muster::scheduler {

/// "" = it is possible. Hosts that have not left count, in whatever state they are.
std::string why_impossible(const State& state, Capacity& capacity, const JobSpec& spec);

}  // namespace muster::scheduler
