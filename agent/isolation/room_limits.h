#pragma once
// The limits of a grant, read off the plan of its room: what its supervisor watches by itself,
// where it finds what the kernel says, and how the end of a rank by a limit is told. Pure.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "agent/isolation/cpu_list.h"
#include "agent/isolation/room_plan.h"
#include "gossip/base/time.h"

namespace muster::agent {

/// Of the processes that are named where memory ran out.
inline constexpr std::size_t kBigProcessesMax = 3;

struct RoomLimits {
  std::uint64_t memory_bytes = 0;      ///< 0 = not limited.
  bool is_memory_watched = false;      ///< Else by the control group.
  std::uint64_t processes = 0;         ///< With their threads; 0 = not limited.
  bool are_processes_counted = false;  ///< Else by the control group.
  std::string group{};                 ///< The control group of the ranks; "" = there is no.
  CpuList affinity{};                  ///< Where ranks begin; empty = where the supervisor runs.
  CpuList cpus{};                    ///< Of this grant alone, by whatever means; empty = it shares.
  std::vector<std::string> files{};  ///< File systems in memory that ranks write to.
  bool operator==(const RoomLimits&) const = default;
};

RoomLimits limits_of(const RoomPlan& plan);

struct BigProcess {
  std::string name;
  int pid = 0;  ///< As its grant knows it.
  std::uint64_t bytes = 0;
  bool operator==(const BigProcess&) const = default;
};

/// The memory of a grant when it ran out.
struct MemoryEnd {
  std::uint64_t limit_bytes = 0;
  std::uint64_t peak_bytes = 0;       ///< 0 = not known.
  std::uint64_t files_bytes = 0;      ///< Of the peak, files in its /tmp and /dev/shm.
  std::vector<BigProcess> biggest{};  ///< The biggest first.
};

/// RankResult::detail: "out of memory: 71M of 64M; python[12] 60M, sh[11] 2M, files 9M". Processes
/// that do not fit are left out.
std::string text_of(const MemoryEnd& end);
/// The host as a whole, and not this grant.
inline constexpr char kHostOutOfMemory[] =
    "its host ran out of memory, and the kernel killed it: it had not reached its own limit";
/// "too many processes: 5300 of 5120". `peak` 0: the kernel refused to make more of them.
std::string processes_end_text(std::uint64_t limit, std::uint64_t peak);

/// Forks that the kernel refused to a grant. It counts them for as long as the grant lives, and a
/// program may get over one: a rank is ended by those alone that it met shortly before.
class RefusedForks {
 public:
  /// A shell tries again for so long: 1, 2, 4 and 8 s after a refusal. Higher: later failures are
  /// laid to a limit. Lower: programs that clean up first fail without their cause.
  static constexpr Duration kRecent = std::chrono::seconds(10);

  /// `count`: all that there were by `now`.
  void saw(std::uint64_t count, Instant now);
  bool are_recent(Instant now) const { return count_ > 0 && now - rose_at_ <= kRecent; }

 private:
  std::uint64_t count_ = 0;
  Instant rose_at_{};
};

/// The number behind `name` in a file of counters of a control group, "NAME NUMBER" a line; 0 if it
/// is not there.
std::uint64_t counter_in(std::string_view text, std::string_view name);

}  // namespace muster::agent
