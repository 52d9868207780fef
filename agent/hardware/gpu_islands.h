#pragma once
// The islands of GPUs: the groups that reach each other without leaving their switch.

#include <cstdint>
#include <vector>

#include "agent/hardware/machine_reading.h"

namespace muster::agent {

/// The island of each GPU of `chosen` (indices in reading.gpus), numbered from 0 in their order.
/// Empty if all are of one island, or if the reading does not tell. inventory_rules.h has the rule.
/// May count more than kHostIslandsMax islands.
std::vector<std::uint32_t> islands_of(const MachineReading& reading,
                                      const std::vector<std::uint32_t>& chosen);

}  // namespace muster::agent
