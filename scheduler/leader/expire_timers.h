#pragma once
// ExpireTimers: the times at which condemned members count as expired. Owned by Scheduler. A
// Condemn says that a host is not heard; its ranks end by themselves when their hold runs out.
// After hold, grace and a margin, stretched for clocks that drift, they are surely gone, and the
// leader proposes Expire.
//
// Each voter keeps timers of its own, begun when it applies the Condemn: no clock is shared, and a
// new leader has waited already. A timer is gone with a Pardon or the member's end; a later Condemn
// begins it again, because the member may have been heard in between.
//
// Invariant: between entries there is one timer for each member that is condemned in the state.

#include <map>

#include "gossip/base/time.h"
#include "scheduler/state/reservations.h"
#include "scheduler/state/state.h"

namespace muster::scheduler {

class ExpireTimers {
 public:
  struct Timer {
    LogIndex condemn;  ///< The Condemn it counts from; only that one is expired by it.
    Instant due;
  };

  /// `margin` is added to hold and grace, for the kill itself.
  explicit ExpireTimers(Duration margin) : margin_(margin) {}

  /// An entry touched this attempt. Returns when the earliest timer that it began is due; kNever if
  /// it began no timer.
  Instant on_touched(Instant now, const State& state, const Token& token);
  /// A snapshot replaced the state: all timers begin now.
  void rebuild(Instant now, const State& state);

  const std::map<MemberKey, Timer>& all() const { return timers_; }

 private:
  Duration margin_;
  std::map<MemberKey, Timer> timers_;
};

}  // namespace muster::scheduler
