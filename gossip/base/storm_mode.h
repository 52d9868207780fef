#pragma once
// StormMode classifies the silence of many hosts at once. Membership computes it
// (membership/storm.h). The quorum limits by it what silence may end (PROTOCOL.md of both).

#include <cstdint>
#include <string_view>

namespace muster {

/// In the order of caution: each mode allows silence to end less than the one before.
enum class StormMode : std::uint8_t {
  kNormal,
  kDomain,              ///< One rack fell silent, the others are well; allows as much as kNormal.
  kPartial,             ///< Many hosts are silent: silence ends a tenth of what it would.
  kPartitionSuspected,  ///< The network may be cut: silence ends nothing.
};

constexpr std::string_view name_of(StormMode mode) {
  switch (mode) {
    case StormMode::kNormal:
      return "normal";
    case StormMode::kDomain:
      return "domain";
    case StormMode::kPartial:
      return "partial";
    case StormMode::kPartitionSuspected:
      return "partition_suspected";
  }
  return "unknown";
}

}  // namespace muster
