#pragma once
// LocalHealth: how far this host trusts the silence it sees. Owned by Watch. A host that paused, or
// whose complaints others refute, stretches its timeouts before it accuses (Lifeguard 4.1).

#include <algorithm>

#include "gossip/base/time.h"

namespace muster::membership {

/// A pause of this host above this makes the silence of others worthless.
inline constexpr Duration kPauseMax = std::chrono::milliseconds(500);
/// The time after a pause in which this host judges nobody: late answers come in first.
inline constexpr Duration kPauseGrace = std::chrono::seconds(1);
/// Timeouts are stretched up to 1 + this.
inline constexpr int kHealthScoreMax = 3;

/// A host that is late by x waits kTimeoutALag times x longer for answers, at most kLateMax longer:
/// other hosts are likely late as well.
inline constexpr std::int64_t kTimeoutALag = 4;
inline constexpr Duration kLateMax = std::chrono::seconds(1);

class LocalHealth {
 public:
  void paused(Instant now) {
    judge_from_ = std::max(judge_from_, now + kPauseGrace);
    add_fault();
  }
  /// A missed round that others refuted, an accusation of this host that it refutes, or a pause.
  void add_fault() { score_ = std::min(score_ + 1, kHealthScoreMax); }
  void add_success() { score_ = std::max(score_ - 1, 0); }
  bool may_judge(Instant now) const { return now >= judge_from_; }
  Instant judge_from() const { return judge_from_; }
  /// This host comes to its messages and timers late by `lag`.
  void be_late(Duration lag) { late_ = std::min(kTimeoutALag * std::min(lag, kLateMax), kLateMax); }
  Duration stretch(Duration timeout) const { return timeout * (1 + score_) + late_; }

 private:
  Instant judge_from_ = kLongAgo;
  int score_ = 0;
  Duration late_{0};
};

}  // namespace muster::membership
