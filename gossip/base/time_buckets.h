#pragma once
// TimeBuckets counts how often something took how long, in buckets whose bounds never change. A
// value.

#include <array>
#include <cstddef>
#include <cstdint>

#include "gossip/base/time.h"

namespace muster {

class TimeBuckets {
 public:
  /// The longest time of each bucket; longer times count in a last one.
  static constexpr std::array<Duration, 8> kBounds = {
      std::chrono::milliseconds(1),  std::chrono::milliseconds(4),   std::chrono::milliseconds(16),
      std::chrono::milliseconds(64), std::chrono::milliseconds(250), std::chrono::seconds(1),
      std::chrono::seconds(4),       std::chrono::seconds(16)};

  void add(Duration time);
  /// Counts of times up to each bound; the last count is that of all times.
  std::array<std::uint64_t, kBounds.size() + 1> up_to() const;
  Duration sum() const { return sum_; }
  bool operator==(const TimeBuckets&) const = default;

 private:
  std::array<std::uint64_t, kBounds.size() + 1> counts_{};
  Duration sum_{0};
};

}  // namespace muster
