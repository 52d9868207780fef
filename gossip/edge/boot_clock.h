#pragma once
// boot_now() and unix_now_ms() are the clocks of the edges: CLOCK_BOOTTIME as an Instant, and the
// time of day. Pure code is told the time and never includes this.

#include <time.h>

#include <cstdint>

#include "gossip/base/time.h"

namespace muster {

inline Instant boot_now() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return Instant(std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec));
}

/// The time of day, for people: milliseconds since 1970 began, in UTC.
inline std::int64_t unix_now_ms() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return std::int64_t{1000} * now.tv_sec + now.tv_nsec / 1'000'000;
}

}  // namespace muster
