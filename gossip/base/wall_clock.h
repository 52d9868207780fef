#pragma once
// WallClock is the time of day, for people to read. It jumps and is wrong on some hosts, so no
// machine decides by it: machines decide by Instant. The driver of a machine says what the clock
// shows, and says it again when the clock jumped.

#include <cstdint>

#include "gossip/base/time.h"

namespace muster {

class WallClock {
 public:
  WallClock() = default;
  /// The clock shows `unix_ms` at `now`: milliseconds since 1970 began, in UTC.
  WallClock(Instant now, std::int64_t unix_ms) : read_at_(now), unix_ms_(unix_ms) {}

  /// 0 if the time of day is not known.
  std::int64_t unix_ms(Instant now) const {
    return unix_ms_ == 0 ? 0 : unix_ms_ + to_ms(now - read_at_);
  }

 private:
  Instant read_at_{};
  std::int64_t unix_ms_ = 0;
};

}  // namespace muster
