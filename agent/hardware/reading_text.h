#pragma once
// A MachineReading as lines for people, to compare with the driver's own tools.

#include <string>

#include "agent/hardware/inventory_rules.h"
#include "agent/hardware/machine_reading.h"

namespace muster::agent {

/// "driver 550.54.15", then a block of lines for each GPU. Facts that were not read are left out.
std::string text_of(const MachineReading& reading);
std::string text_of(const HardwareOffer& offer);

}  // namespace muster::agent
