#pragma once
// What becomes of an attempt, and what that means for its job: done, failed, queued again. Rules
// over the books.
//
// A rigid gang is replaced fast: once every reachable rank is confirmed stopped under a logged
// Stop, and the attempt cannot complete any more, its job goes on; the GPUs of silent hosts stay
// held.

#include <cstdint>

#include "scheduler/state/step.h"

namespace muster::scheduler {

/// A job that loses its hosts this often is failed: something about it kills them.
inline constexpr std::uint32_t kLostAttemptsMax = 100;
/// How long the failure of a rank waits to be classed: the verdict about a dead host takes 3.5 s at
/// the worst, and 2 s more to be logged. Counted in Ticks, so it may be shorter or longer by one.
/// Shorter charges a lost host to the user's retries; longer delays the word that a program failed.
inline constexpr Duration kClassWait = std::chrono::milliseconds(5500);

/// Something about the attempt may have changed: if its job need not wait for it any more, the job
/// goes on, once.
void settle(Step& step, Attempt& attempt);
/// Something about the host changed: all attempts that hold GPUs of it, and those unclassed.
void settle_host(Step& step, const HostId& host);
/// Time passed: failures that waited for a verdict.
void settle_unclassed(Step& step);

}  // namespace muster::scheduler
