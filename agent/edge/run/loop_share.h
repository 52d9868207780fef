#pragma once
// LoopShare keeps the share of one kind of work in the time of a loop: behind each piece the next
// one waits kRest times as long as that piece took. Lists are such work: probes, the log and small
// questions go on between them, however many clients ask. Pure.

#include <algorithm>
#include <chrono>

#include "gossip/base/time.h"

namespace muster::agent {

class LoopShare {
 public:
  /// With it the work has at most a third of the loop.
  static constexpr int kRest = 2;
  /// However much came to its end at once.
  static constexpr Duration kRestMax = std::chrono::seconds(1);

  /// A piece took `cpu` of the loop's processor time, and is over.
  void took(Instant now, Duration cpu) {
    next_ = std::max(next_, now) + std::max<Duration>(kRest * cpu, Duration(0));
    next_ = std::min(next_, now + kRestMax);
  }
  /// The next piece may begin from then on.
  Instant next() const { return next_; }

 private:
  Instant next_{};
};

}  // namespace muster::agent
