#pragma once
// How late a host comes to what it has to do: the worst of the last second or so. It is measured,
// by words that waited and by timers, and tells what the host can afford, whatever its machine is
// and however many others work there.

#include <algorithm>

#include "gossip/base/time.h"

namespace muster {

class Lag {
 public:
  /// Something is done now that was to be done, or lay there, so long ago.
  void saw(Instant now, Duration late) {
    turn(now);
    worst_ = std::max(worst_, late);
  }
  Duration worst(Instant now) {
    turn(now);
    return std::max(worst_, before_);
  }

 private:
  static constexpr Duration kSpan = std::chrono::milliseconds(500);

  void turn(Instant now) {
    if (now - began_ < kSpan) {
      return;
    }
    before_ = now - began_ < 2 * kSpan ? worst_ : Duration(0);
    worst_ = Duration(0);
    began_ = now;
  }

  Instant began_ = kLongAgo;
  Duration worst_{0};   ///< Since then.
  Duration before_{0};  ///< Of the span before.
};

}  // namespace muster
