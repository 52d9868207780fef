#pragma once
// HostFacts looks every ten seconds for facts about this host that nobody tells the agent: the file
// system of its data is read-only, or processes that were killed hang in the kernel and keep GPUs.
// GpuHealth cordons the host while one of them is so. A lack of space is no such fact: LaunchCheck
// knows it. Owned by EventLoop; no call waits.
//
// A program must not take its host out of use by a vfork() or by much I/O. Therefore a process
// counts only if its KILL is pending for three looks while it sleeps uninterruptibly.

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "agent/hardware/machine_reading.h"
#include "agent/health/gpu_health_interface.h"
#include "gossip/base/time.h"

namespace muster::agent {

/// Of a file system.
struct DiskSpace {
  std::uint64_t size_bytes = 0;  ///< 0 = not known.
  std::uint64_t free_bytes = 0;  ///< That the agent may use.
};

class HostFacts {
 public:
  static constexpr Duration kLookEvery = std::chrono::seconds(10);
  static constexpr std::uint32_t kLooks = 3;            ///< In a row, of a process.
  static constexpr std::size_t kProcessesMax = 1024;    ///< Of one look.
  static constexpr std::size_t kProcessesNamedMax = 4;  ///< In the text for people.

  /// `data`: the data directory. `proc`: the place of /proc.
  explicit HostFacts(std::string data, std::string proc = "/proc");

  Instant next_deadline() const { return look_at_; }
  /// Looks, if that is due: at `pids`, and at the disk. The facts that are news.
  std::vector<health::HostFact> look(Instant now, const std::set<std::uint32_t>& pids);
  /// Of the data directory, as of the last look.
  const DiskSpace& space() const { return space_; }

 private:
  struct Process {
    std::string started;  ///< As /proc tells it: the number may name another one by now.
    std::uint32_t looks = 0;
    std::string program;
  };

  std::string look_at_disk();
  std::string text_of_stuck(const std::set<std::uint32_t>& pids);
  void tell(HostCause cause, std::string why, std::vector<health::HostFact>& facts);

  std::string data_;
  std::string proc_;
  DiskSpace space_;
  Instant look_at_ = kLongAgo;
  std::uint32_t looks_ = 0;
  std::map<std::uint32_t, Process> hanging_;
  std::map<HostCause, std::string> told_;
};

/// The processes that the driver names, and the ranks in the control groups of grants below
/// `group_root`, also of grants that are over: at most HostFacts::kProcessesMax.
std::set<std::uint32_t> watched_processes(const MachineReading& reading,
                                          const std::string& group_root);

}  // namespace muster::agent
