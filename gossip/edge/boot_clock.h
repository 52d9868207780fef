#pragma once
// The one clock of the edges: CLOCK_BOOTTIME as an Instant. Pure code is told the time and never
// includes this.

#include <time.h>

#include "gossip/base/time.h"

namespace muster {

inline Instant boot_now() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return Instant(std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec));
}

}  // namespace muster
