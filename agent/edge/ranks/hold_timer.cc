#include "agent/edge/ranks/hold_timer.h"

#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

namespace muster::agent {

bool HoldTimer::open() {
  timer_ = Fd(timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK));
  return timer_.is_open();
}

void HoldTimer::prolong(Instant hold_until) {
  hold_until_ = std::max(hold_until_, hold_until);
}

void HoldTimer::kill_by(Instant when) {
  kill_at_ = std::min(kill_at_, when);
}

void HoldTimer::arm(bool is_watched, Instant other) {
  const Instant at = std::min({kill_at_, other, is_watched ? hold_until_ : kNever});
  itimerspec spec{};
  if (at != kNever) {
    // Zero would disarm: a deadline in the past is one nanosecond after boot.
    const auto since_boot = std::max(at.time_since_epoch(), Duration(1));
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since_boot);
    spec.it_value.tv_sec = seconds.count();
    spec.it_value.tv_nsec = (since_boot - seconds).count();
  }
  timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &spec, nullptr);
}

void HoldTimer::clear() {
  std::uint64_t expirations = 0;
  while (read(timer_.get(), &expirations, sizeof expirations) > 0) {
  }
}

}  // namespace muster::agent
