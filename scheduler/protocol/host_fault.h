#pragma once
// Which failures to start a rank are the host's: no process, no descriptor, no disk. The job did
// nothing wrong, so it uses no retry and goes on without that host.

#include <cstdint>

#include "scheduler/protocol/job.h"

namespace muster::scheduler {

/// RankResult::code beside kNotStarted. Other codes there (126, 127) are the program's.
inline constexpr std::int32_t kHostFault = 0;

inline bool is_host_fault(const RankResult& result) {
  return result.kind == RankResult::Kind::kNotStarted && result.code == kHostFault;
}

}  // namespace muster::scheduler
