#include "scheduler/leader/rounds.h"

#include <utility>

#include "gossip/base/check.h"

namespace muster::scheduler {

bool Rounds::wait(Waiter waiter) {
  if (waiting_.size() >= kRoundWaitersMax) {
    return false;
  }
  waiting_.push_back(std::move(waiter));
  return true;
}

void Rounds::ask(const StepContext& step) {
  if (asked_at_.has_value() || waiting_.empty()) {
    return;
  }
  CHECK(in_round_.empty());
  in_round_.swap(waiting_);
  asked_at_ = step.now;
  ++context_;
  step.output.round_requests.push_back(context_);
}

std::optional<std::vector<Waiter>> Rounds::take_answered(std::uint64_t context) {
  if (!asked_at_.has_value() || context != context_) {
    return std::nullopt;
  }
  asked_at_.reset();
  return std::exchange(in_round_, {});
}

void Rounds::tick(const StepContext& step) {
  if (!asked_at_.has_value() || step.now < *asked_at_ + step.config.round_again) {
    return;
  }
  // The waiters of the lost round join those of the next: it begins later than their receipt.
  waiting_.insert(waiting_.begin(), in_round_.begin(), in_round_.end());
  in_round_.clear();
  asked_at_.reset();
  ask(step);
}

Instant Rounds::next_deadline(const SchedulerConfig& config) const {
  return asked_at_.has_value() ? *asked_at_ + config.round_again : kNever;
}

void Rounds::check_invariants() const {
  CHECK(asked_at_.has_value() || in_round_.empty());
}

}  // namespace muster::scheduler
