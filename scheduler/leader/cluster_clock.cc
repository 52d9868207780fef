#include "scheduler/leader/cluster_clock.h"

#include <algorithm>

#include "scheduler/leader/scheduler_config.h"
#include "scheduler/protocol/entry.h"
#include "scheduler/protocol/mutants.h"

namespace muster::scheduler {
namespace {

bool stands_still(const State& state) {
  return !state.needs_time() && !state.has_open_ticket();
}

Duration tick_period(const SchedulerConfig& config, const State& state) {
  return state.needs_time() ? config.tick_every : config.tick_for_tickets;
}

}  // namespace

void ClusterClock::tick(const StepContext& step, Proposals& proposals) {
  const bool is_seldom = !step.state.needs_time();
  const bool stands = stands_still(step.state);
  if (stands || (ticks_seldom_ && !is_seldom)) {
    last_tick_ = step.now;  // Time that passed before there was work does not count.
  }
  ticks_seldom_ = is_seldom;
  if (stands || step.now < last_tick_ + tick_period(step.config, step.state)) {
    return;
  }
  const Duration elapsed = std::min<Duration>(step.now - last_tick_, kTickMax);
  if (proposals.propose(step, entry::Tick{elapsed})) {
    last_tick_ = step.now;
  }
}

Duration ClusterClock::catch_up(const StepContext& step, Proposals& proposals) {
  const Duration elapsed = std::min<Duration>(step.now - last_tick_, kTickMax);
  // Once there is work, a clock that stands still counts from a later step on.
  if (stands_still(step.state) || elapsed <= Duration::zero() ||
      mutant(SchedulerMutant::kBeginFromLastTick)) {
    return Duration::zero();
  }
  if (!proposals.propose(step, entry::Tick{elapsed})) {
    return elapsed;
  }
  last_tick_ = step.now;
  return Duration::zero();
}

Instant ClusterClock::next_deadline(const SchedulerConfig& config, const State& state,
                                    const Proposals& proposals) const {
  if (stands_still(state)) {
    return kNever;
  }
  return std::max(last_tick_ + tick_period(config, state),
                  proposals.free_at(proposal_name(entry::Tick())));
}

}  // namespace muster::scheduler
