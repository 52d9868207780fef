#pragma once
// The timer by which a supervisor acts by itself: at the end of the hold, when it kills ranks that
// were asked to end, and when it hears an agent that waits. One descriptor becomes readable at the
// earliest of the three. On the boot clock: it goes on while the machine sleeps.

#include "agent/edge/grant/supervise_protocol.h"
#include "gossip/base/time.h"

namespace muster::agent {

class HoldTimer {
 public:
  explicit HoldTimer(Instant hold_until) : hold_until_(hold_until) {}

  /// Before all else. False: the kernel has no descriptor left.
  bool open();
  int descriptor() const { return timer_.get(); }

  Instant hold_until() const { return hold_until_; }
  /// A hold only grows: what an agent promised the leader is not taken back.
  void prolong(Instant hold_until);
  bool is_over(Instant now) const { return now >= hold_until_; }

  void kill_at(Instant when) { kill_at_ = when; }
  /// Once more, or sooner.
  void kill_by(Instant when);
  bool is_kill_due(Instant now) const { return now >= kill_at_; }

  /// Wakes at the earliest of a kill, `other`, and the end of the hold if that `is_watched`.
  void arm(bool is_watched, Instant other);
  /// Takes note that it woke.
  void clear();

 private:
  Instant hold_until_;
  Instant kill_at_ = kNever;
  Fd timer_;
};

}  // namespace muster::agent
