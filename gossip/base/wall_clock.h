#pragma once
// What the clock on the wall shows, for people to read. It jumps, it is wrong on some hosts, and
// nothing is decided by it: what a machine decides by is Instant. Whoever drives a machine says
// what the clock shows, and says it again when it jumped.

#include <cstdint>

#include "gossip/base/time.h"

namespace muster {

class WallClock {
 public:
  WallClock() = default;
  /// At `now` it shows `unix_ms`: milliseconds since 1970 began, in UTC.
  WallClock(Instant now, std::int64_t unix_ms) : read_at_(now), unix_ms_(unix_ms) {}

  /// 0 = nobody said.
  std::int64_t unix_ms(Instant now) const {
    return unix_ms_ == 0 ? 0 : unix_ms_ + to_ms(now - read_at_);
  }

 private:
  Instant read_at_{};
  std::int64_t unix_ms_ = 0;
};

}  // namespace muster
