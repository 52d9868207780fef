#include "agent/gang/end_report.h"

#include <algorithm>

namespace muster::agent {

void EndReport::begin_early(Instant now, scheduler::RankResult first, Duration retry) {
  early_.assign(1, std::move(first));
  pause_ = retry;
  at_ = now;
}

bool EndReport::begin_last(Duration retry) {
  if (at_ != kNever) {
    return false;
  }
  pause_ = retry;
  return true;
}

void EndReport::stop() {
  early_.clear();
  at_ = kNever;
}

void EndReport::restart(Instant now, Duration retry) {
  if (at_ != kNever) {
    at_ = now;
    pause_ = retry;
  }
}

void EndReport::said(Instant now, Duration pause_max) {
  at_ = now + pause_;
  pause_ = std::min(pause_ * 2, pause_max);
}

}  // namespace muster::agent
