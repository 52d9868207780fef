#include "scheduler/leader/scheduler_config.h"

namespace muster::scheduler {
namespace {

bool is_rate(const ChangeLimits::Rate& rate) {
  return rate.per_second > 0 && rate.burst > 0;
}

}  // namespace

Status SchedulerConfig::validate() const {
  const bool positive = reserve_deadline > Duration::zero() && resend_first > Duration::zero() &&
                        tick_every > Duration::zero() && propose_again > Duration::zero() &&
                        round_again > Duration::zero() && deadline_counts > 0 &&
                        is_rate(changes.of_user) && is_rate(changes.of_all) &&
                        is_rate(changes.of_queue);
  if (!positive || resend_last < resend_first || resend_first >= reserve_deadline) {
    return Error{ErrorCode::kInvalid, "re-send times must be positive and below the deadline"};
  }
  return ok();
}

}  // namespace muster::scheduler
