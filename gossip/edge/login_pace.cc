#include "gossip/edge/login_pace.h"

#include <algorithm>

#include "gossip/edge/login_connections.h"

namespace muster::gossip {
namespace {

/// Between two walks over all logins.
constexpr Duration kForgetPeriod = std::chrono::seconds(1);

}  // namespace

bool LoginPace::take(std::uint32_t uid, Instant now) {
  if (!is_limited_login(uid, own_)) {
    return true;
  }
  forget_idle(now);
  auto known = due_.find(uid);
  if (known == due_.end()) {
    if (due_.size() >= kLoginsMax) {
      return false;
    }
    known = due_.emplace(uid, now).first;
  }
  const Duration interval = Duration(std::chrono::seconds(1)) / rate_.per_second;
  const Instant due = std::max(known->second, now);
  if (due > now + (rate_.burst - 1) * interval) {
    return false;
  }
  known->second = due + interval;
  return true;
}

void LoginPace::forget_idle(Instant now) {
  if (now < forgot_at_ + kForgetPeriod) {
    return;
  }
  forgot_at_ = now;
  std::erase_if(due_, [&](const auto& each) { return each.second <= now; });
}

}  // namespace muster::gossip
