#pragma once
// The cores of this machine that this process may use, with their NUMA nodes.

#include <string>
#include <vector>

#include "agent/isolation/cpu_choice.h"

namespace muster::agent {

/// Empty if the kernel does not say: then all grants share. `system` and `allowed` are others in
/// tests; empty `allowed` = what sched_getaffinity() says.
std::vector<Core> cores_of_machine(const std::string& system = "/sys/devices/system",
                                   CpuList allowed = {});

}  // namespace muster::agent
