#pragma once
// Reads the use and the health of one GPU: memory, processes, errors, clocks.

#include "agent/edge/gpu/nvml_library.h"
#include "agent/hardware/machine_reading.h"

namespace muster::agent {

/// Sets memory, errors, recovery, use and processes of `gpu`. A fact that the library does not tell
/// stays absent. Sets `error` if the GPU is lost, needs a reset, or tells of no memory that makes
/// sense.
void read_use(const NvmlLibrary& library, nvml::Device device, GpuReading& gpu);

}  // namespace muster::agent
