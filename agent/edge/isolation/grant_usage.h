#pragma once
// The memory and processes that a grant uses, added up from /proc: for hosts whose control groups
// do not count them. Pages of programs and of files that the kernel can write back count for
// nobody.

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "agent/isolation/room_limits.h"

namespace muster::agent {

struct GrantUse {
  std::uint64_t processes = 0;     ///< With their threads.
  std::uint64_t memory_bytes = 0;  ///< With those of files.
  std::uint64_t files_bytes = 0;
  std::vector<BigProcess> biggest{};  ///< At most kBigProcessesMax, the biggest first.
};

/// Every process that this /proc shows but this one.
std::vector<pid_t> processes_of_proc();

/// As if the processes shared nothing: cheap, and never less than fair_use() but for the pages that
/// were used in between. `files`: mount points of file systems in memory, each counted whole.
GrantUse rough_use(const std::vector<pid_t>& processes, const std::vector<std::string>& files);

/// Each shared page once. It walks the page tables: about a millisecond for each GiB of a process.
/// A process that does not show its pages counts as in rough_use(). Memory behind a descriptor that
/// no process maps (memfd) is not seen.
GrantUse fair_use(const std::vector<pid_t>& processes, const std::vector<std::string>& files);

}  // namespace muster::agent
