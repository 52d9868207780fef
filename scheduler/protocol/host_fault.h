#pragma once
// Failures to start a rank for which its host is to blame: no process, no descriptor, no disk. The
// job uses no retry for such a failure, and its next attempt leaves that host out.

#include <cstdint>

#include "scheduler/protocol/job.h"

namespace muster::scheduler {

/// RankResult::code with kNotStarted. For other codes (126, 127) the program is to blame.
inline constexpr std::int32_t kHostFault = 0;

inline bool is_host_fault(const RankResult& result) {
  return result.kind == RankResult::Kind::kNotStarted && result.code == kHostFault;
}

}  // namespace muster::scheduler
