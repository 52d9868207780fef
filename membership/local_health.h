#pragma once
// How far this host trusts its own silence. A host that was paused, or whose complaints others
// refute, stretches its timeouts before it accuses (Lifeguard 4.1).

#include <algorithm>

#include "gossip/base/time.h"

namespace muster::membership {

/// A gap in our own running above this makes silence of others worthless.
inline constexpr Duration kPauseMax = std::chrono::milliseconds(500);
/// So long nobody is judged after a pause: the answers to what we missed come in first.
inline constexpr Duration kPauseGrace = std::chrono::seconds(1);
/// Timeouts are stretched up to 1 + this.
inline constexpr int kHealthScoreMax = 3;

class LocalHealth {
 public:
  void paused(Instant now) {
    judge_from_ = std::max(judge_from_, now + kPauseGrace);
    add_fault();
  }
  /// A missed round that others refuted, a forced refute of our own, a pause.
  void add_fault() { score_ = std::min(score_ + 1, kHealthScoreMax); }
  void add_success() { score_ = std::max(score_ - 1, 0); }
  bool may_judge(Instant now) const { return now >= judge_from_; }
  Instant judge_from() const { return judge_from_; }
  Duration stretch(Duration timeout) const { return timeout * (1 + score_); }

 private:
  Instant judge_from_ = kLongAgo;
  int score_ = 0;
};

}  // namespace muster::membership
