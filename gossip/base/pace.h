#pragma once
// Pace is a rate limit: at most `a_second` events a second, at most one second of them in a burst
// (the generic cell rate algorithm, ITU-T I.371 annex A).

#include <algorithm>
#include <cstdint>

#include "gossip/base/time.h"

namespace muster {

class Pace {
 public:
  /// The earliest moment at which take() is allowed again. Precondition: a_second > 0.
  Instant ready_at(std::int64_t a_second) const {
    const Duration second = std::chrono::seconds(1);
    return due_ - (second - second / a_second);
  }
  /// Precondition: now >= ready_at().
  void take(Instant now, std::int64_t a_second) {
    due_ = std::max(due_, now) + Duration(std::chrono::seconds(1)) / a_second;
  }

 private:
  Instant due_ = kLongAgo;  ///< End of all events taken, if they were spread evenly.
};

}  // namespace muster
