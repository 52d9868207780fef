#pragma once
// Instant and Duration are the time of the state machines. `BootClock` has no now(): a machine is
// told the time and cannot read it. At the edge an Instant is CLOCK_BOOTTIME, so a suspend counts
// as time passed; in the simulator it is virtual. Wall time is for display (wall_clock.h).

#include <chrono>
#include <cstdint>

namespace muster {

struct BootClock {
  using rep = std::int64_t;
  using period = std::nano;
  using duration = std::chrono::nanoseconds;
  using time_point = std::chrono::time_point<BootClock>;
  static constexpr bool is_steady = true;
};

using Duration = BootClock::duration;
using Instant = BootClock::time_point;

/// "Never": the deadline of a machine that waits for input only.
inline constexpr Instant kNever = Instant::max();
/// Before all events; differences to it do not overflow.
inline constexpr Instant kLongAgo = Instant{} - std::chrono::hours(1000);

/// Whole milliseconds, for wire, events and people. Truncates.
constexpr std::int64_t to_ms(Duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
}
constexpr std::int64_t to_ms(Instant instant) {
  return to_ms(instant.time_since_epoch());
}

}  // namespace muster
