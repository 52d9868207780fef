#pragma once
// ObserversClock: the times at which a host chooses its observers again. Owned by Membership.

#include <algorithm>

#include "gossip/base/time.h"
#include "membership/mutants.h"

namespace muster::membership {

/// The own observer list changes after this time without a new cause: while a cluster boots every
/// join may move it, and each version is flooded to all. Lower: a newcomer is watched sooner.
inline constexpr Duration kObserversDelay = std::chrono::milliseconds(500);
/// The delay doubles after each change, up to this, until the list stayed for kObserversCalm. A
/// cause waits no longer than this. Higher: fewer lists while many hosts come, and each list names
/// observers that are known better.
inline constexpr Duration kObserversDelayMax = std::chrono::seconds(4);
inline constexpr Duration kObserversCalm = std::chrono::seconds(10);

class ObserversClock {
 public:
  /// Something happened that may change the list.
  void want(Instant now) {
    if (now - changed_ > kObserversCalm) {
      delay_ = kObserversDelay;
    }
    const bool at_once = mutant(MembershipMutant::kObserversAtEachChange);
    latest_ = std::min(latest_, now + kObserversDelayMax);
    at_ = at_once ? now : std::min(now + delay_, latest_);
  }
  bool is_due(Instant now) const { return now >= at_; }
  Instant deadline() const { return at_; }
  void chosen() {
    at_ = kNever;
    latest_ = kNever;
  }
  /// The chosen list differs from the one before.
  void changed(Instant now) {
    changed_ = now;
    delay_ = std::min(2 * delay_, kObserversDelayMax);
  }

 private:
  Instant at_ = kNever;
  Instant latest_ = kNever;  ///< The limit of at_, however much happens until then.
  Instant changed_ = kLongAgo;
  Duration delay_ = kObserversDelay;
};

}  // namespace muster::membership
