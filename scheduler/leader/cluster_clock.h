#pragma once
// ClusterClock: proposes the Ticks that make cluster time, which stands still while nobody needs
// it. Owned by Leader. A new leader counts from the moment it is ready.
//
// Invariant: the Ticks of this leader count no moment twice, and none before it was ready; a moment
// that none counts is lost for ever. Cluster time may be late; it is never early.

#include "gossip/base/time.h"
#include "scheduler/leader/proposals.h"
#include "scheduler/leader/step_context.h"
#include "scheduler/state/state.h"

namespace muster::scheduler {

class ClusterClock {
 public:
  /// `now`: when this leader was ready.
  explicit ClusterClock(Instant now) : last_tick_(now) {}

  /// Last in each step: proposes a Tick if one is due.
  void tick(const StepContext& step, Proposals& proposals);
  /// Before an entry whose spans apply adds to cluster time: proposes a Tick of the time until now,
  /// so that they count from now. Returns what is to be added to each span instead: the time that a
  /// later Tick counts, because one is on its way; at most kTickMax.
  Duration catch_up(const StepContext& step, Proposals& proposals);
  /// When to call tick() even if nothing happens.
  Instant next_deadline(const SchedulerConfig& config, const State& state,
                        const Proposals& proposals) const;

 private:
  Instant last_tick_;          ///< Up to when cluster time has been proposed.
  bool ticks_seldom_ = false;  ///< Only tickets have waited for it since.
};

}  // namespace muster::scheduler
