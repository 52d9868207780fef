#pragma once
// The inventory of this host: GPUs, processors, memory. Ranks on simulated GPUs are real processes,
// so that everything works on a laptop and in CI: "sim:8xH100,cpus=96,mem=1T,island=4+4".

#include <string_view>

#include "agent/gang/gang_interface.h"
#include "gossip/base/ids.h"
#include "gossip/base/result.h"

namespace muster::agent {

inline constexpr std::uint32_t kGpusPerHostMax = 16;
inline constexpr std::uint32_t kCpusPerHostMax = 4096;
inline constexpr std::uint32_t kIslandsMax = 8;

/// `spec` is "sim:COUNTxTYPE" and, behind commas, what else the host would have: cpus=N, mem=SIZE,
/// island=N+N: how many of the GPUs, in their order, reach each other without leaving their switch.
/// Without GPUs it is cpus=N and what else there is. The uuids depend on `host` and position only,
/// so a restart finds the same GPUs and two hosts never share one. Processors and memory are the
/// machine's unless they are given. kInvalid lists what would have been accepted.
Result<Inventory> read_inventory(std::string_view spec, HostId host);

}  // namespace muster::agent
