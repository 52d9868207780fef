#pragma once
// Which GPUs this host has. Simulated ones run real processes, so that everything works on a laptop
// and in CI: "sim:8xH100".

#include <string_view>

#include "agent/gang/words.h"
#include "gossip/base/ids.h"
#include "gossip/base/result.h"

namespace muster::agent {

inline constexpr std::uint32_t kGpusPerHostMax = 16;

/// `spec` is "sim:COUNTxTYPE". The uuids depend on `host` and position only, so a restart finds the
/// same GPUs and two hosts never share one. Processors and memory are the machine's. kInvalid lists
/// what would have been accepted.
Result<Inventory> read_inventory(std::string_view spec, HostId host);

}  // namespace muster::agent
