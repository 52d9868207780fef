#pragma once
// What ended grants leave on disk: the directories in DATA/grants that hold nothing but output and
// complaints. The oldest go first once there are too many or they take too much.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "agent/api/output.h"
#include "gossip/base/ids.h"

namespace muster::agent {

/// Lower: older logs are gone sooner; higher: more directories to look through.
inline constexpr std::size_t kKeptGrantsMax = 1000;

struct KeptLimits {
  OutputRule rule{};
  std::size_t count = kKeptGrantsMax;
};

class KeptGrants {
 public:
  explicit KeptGrants(KeptLimits limits) : limits_(limits) {}
  /// `directory` of this token is of no more use but to readers; measured now. Removes the oldest
  /// beyond the limits, but never the last, and returns how many.
  std::size_t add(Token token, const std::string& directory);
  /// Removes what ended, or was written to last, longer ago than the rule says, at most kRemovedMax
  /// of it at once, and returns how many. To be called now and then.
  std::size_t expire(std::uint64_t unix_ms);
  static constexpr std::size_t kRemovedMax = 4;

 private:
  struct Kept {
    std::string directory;
    std::uint64_t bytes = 0;
    std::uint64_t unix_ms = 0;  ///< When it ended, or was written to last.
  };
  std::map<Token, Kept>::iterator remove(std::map<Token, Kept>::iterator one);

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
