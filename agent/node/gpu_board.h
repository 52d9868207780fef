#pragma once
// The answer of a host about its own GPUs: what the driver says, and how the agent judges it. Pure.

#include <map>
#include <string>
#include <vector>

#include "agent/api/gpus.h"
#include "agent/hardware/machine_reading.h"
#include "agent/health/gpu_health_interface.h"
#include "gossip/base/time.h"

namespace muster::agent {

/// The last look at the GPUs of this host, and their health.
struct GpusSeen {
  MachineReading reading;  ///< Empty: there was no look.
  std::vector<GpuHealthInfo> health;
  std::map<std::string, std::string> dirty;  ///< Why, of those that were not found clean.
};

/// The words for the reasons that NVML names for a lower clock; an idle GPU is no reason. A reason
/// that is not known here stands as its number.
std::vector<std::string> throttle_words(std::uint64_t reasons);

/// Each GPU that the host offers, has read or has judged.
GpuBoard gpu_board(Instant now, const GpusSeen& seen, const std::vector<std::string>& offered);
/// The same for a person who does not see all jobs: it names no process, and no text in which one
/// may stand.
GpuBoard without_processes(GpuBoard board);

}  // namespace muster::agent
