#include "scheduler/access/change_pace.h"

#include <algorithm>
#include <chrono>

namespace muster::scheduler {
namespace {

/// Between two walks over all users.
constexpr Duration kForgetPeriod = std::chrono::seconds(1);

/// The time until one more may come; 0 or less = now.
Duration wait_of(const ChangeLimits::Rate& rate, Instant due, Instant now) {
  const Duration interval = Duration(std::chrono::seconds(1)) / rate.per_second;
  return std::max(due, now) - (rate.burst - 1) * interval - now;
}

Instant due_after(const ChangeLimits::Rate& rate, Instant due, Instant now) {
  return std::max(due, now) + Duration(std::chrono::seconds(1)) / rate.per_second;
}

}  // namespace

std::optional<Duration> ChangePace::take(const ChangeLimits& limits, const Subject& by,
                                         Instant now) {
  forget_idle(now);
  if (const Duration wait = wait_of(limits.of_all, due_of_all_, now); wait > Duration::zero()) {
    return wait;
  }
  auto known = due_.find(by.user);
  const bool is_counted = !by.user.empty() && (known != due_.end() || due_.size() < kUsersMax);
  if (is_counted) {
    known = known == due_.end() ? due_.emplace(by.user, now).first : known;
    if (const Duration wait = wait_of(limits.of_user, known->second, now);
        wait > Duration::zero()) {
      return wait;
    }
    known->second = due_after(limits.of_user, known->second, now);
  }
  due_of_all_ = due_after(limits.of_all, due_of_all_, now);
  return std::nullopt;
}

void ChangePace::forget_idle(Instant now) {
  if (now < forgot_at_ + kForgetPeriod) {
    return;
  }
  forgot_at_ = now;
  std::erase_if(due_, [&](const auto& each) { return each.second <= now; });
}

}  // namespace muster::scheduler
