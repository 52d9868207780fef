#pragma once
// Lag is the worst delay of a host's work in about the last second. It is measured, from messages
// that waited and from timers that ran late. Therefore it says what the host can afford, whatever
// its hardware and however many other processes share it.

#include <algorithm>

#include "gossip/base/time.h"

namespace muster {

class Lag {
 public:
  /// Work that was due, or a message that arrived, `late` ago is handled now.
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
  Duration worst_{0};   ///< Since began_.
  Duration before_{0};  ///< In the span before began_.
};

}  // namespace muster
