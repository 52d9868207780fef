#pragma once
// What ended grants leave on disk: the directories in DATA/grants that hold nothing but output and
// complaints. The oldest go first once there are too many or they take too much.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "gossip/base/ids.h"

namespace muster::agent {

/// Of ended grants, together. Lower: older logs are gone sooner; higher: more disk.
inline constexpr std::uint64_t kKeptBytesMax = std::uint64_t{4} << 30;
inline constexpr std::size_t kKeptGrantsMax = 1000;

struct KeptLimits {
  std::uint64_t bytes = kKeptBytesMax;
  std::size_t count = kKeptGrantsMax;
};

class KeptGrants {
 public:
  explicit KeptGrants(KeptLimits limits) : limits_(limits) {}
  /// `directory` of this token is of no more use but to readers; measured now. Removes the oldest
  /// beyond the limits, but never the last, and returns how many.
  std::size_t add(Token token, const std::string& directory);

 private:
  struct Kept {
    std::string directory;
    std::uint64_t bytes = 0;
  };
  KeptLimits limits_;
  std::map<Token, Kept> kept_;
  std::uint64_t bytes_ = 0;
};

/// Free space under which a host takes no new grants: the smaller of the two.
struct DiskReserve {
  std::uint64_t bytes = std::uint64_t{1} << 30;
  std::uint32_t percent = 5;  ///< Of the file system.
};

/// Why nothing new may begin on the file system of `path`; nothing when there is room, or when
/// that cannot be found out.
std::optional<std::string> disk_shortage(const std::string& path, const DiskReserve& reserve);

}  // namespace muster::agent
