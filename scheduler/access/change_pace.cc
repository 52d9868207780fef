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

/// nullptr if it is not counted.
Instant* ChangePace::due_of(Dues& dues, const std::string& name, Instant now) {
  const auto known = dues.find(name);
  if (known != dues.end()) {
    return &known->second;
  }
  return name.empty() || dues.size() >= kUsersMax ? nullptr
                                                  : &dues.emplace(name, now).first->second;
}

std::optional<ChangePace::Wait> ChangePace::take(const ChangeLimits& limits, const Subject& by,
                                                 Instant now, const std::string& queue) {
  forget_idle(now);
  struct Counted {
    Limit limit;
    const ChangeLimits::Rate& rate;
    Instant* due;
  };
  const Counted counted[] = {
      {Limit::kOfAll, limits.of_all, &due_of_all_},
      {Limit::kOfUser, limits.of_user, due_of(due_, by.user, now)},
      {Limit::kOfQueue, limits.of_queue, due_of(queues_due_, queue, now)},
  };
  for (const Counted& each : counted) {
    const Duration wait =
        each.due == nullptr ? Duration::zero() : wait_of(each.rate, *each.due, now);
    if (wait > Duration::zero()) {
      return Wait{wait, each.limit};
    }
  }
  for (const Counted& each : counted) {
    if (each.due != nullptr) {
      *each.due = due_after(each.rate, *each.due, now);
    }
  }
  return std::nullopt;
}

void ChangePace::forget_idle(Instant now) {
  if (now < forgot_at_ + kForgetPeriod) {
    return;
  }
  forgot_at_ = now;
  for (Dues* dues : {&due_, &queues_due_}) {
    std::erase_if(*dues, [&](const auto& each) { return each.second <= now; });
  }
}

}  // namespace muster::scheduler
