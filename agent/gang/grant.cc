#include "agent/gang/grant.h"

#include <algorithm>

#include "gossip/base/check.h"

namespace muster::agent {

using scheduler::GrantState;

void Grant::move(GrantEvent event) {
  const std::optional<GrantPhase> to = grant_step(phase, event);
  CHECK(to.has_value());
  phase = *to;
  record.state = state_of(phase);
}

bool Grant::waits_for_start() const {
  return phase < GrantPhase::kStartHeard;
}

scheduler::GrantReport Grant::report_to(std::uint64_t epoch) const {
  CHECK(durable.has_value());
  scheduler::GrantReport said{record.token, *durable, {}, std::nullopt};
  if (said.state == GrantState::kEnded) {
    said.results = record.results;
  }
  const bool was_launched = said.state != GrantState::kReady && said.state != GrantState::kAborted;
  if (was_launched && said.token.epoch < epoch) {
    said.detail = scheduler::GrantDetail{record.job, record.attempt, record.spec, record.members,
                                         record.hold};
  }
  return said;
}

Instant Grant::next_deadline() const {
  Instant deadline = stuck_at;
  if (state() == GrantState::kEnded || report.is_early()) {
    deadline = std::min(deadline, report.repeat_at());
  }
  const bool can_lapse =
      !has_ranks() || (!record.spec.limits.keep_when_isolated && state() != GrantState::kStopping);
  if (is_live() && can_lapse) {
    deadline = std::min(deadline, hold_until);
  }
  return deadline;
}

}  // namespace muster::agent
