#pragma once
// Rules that settle an attempt for its job: the job is done, failed or queued again. Rules over the
// books.
//
// A rigid gang is replaced fast: once every reachable rank is confirmed stopped under a logged
// Stop, and the attempt cannot complete any more, its job goes on; the GPUs of silent hosts stay
// held.

#include <cstdint>

#include "scheduler/state/step.h"

namespace muster::scheduler {

/// A job that loses its hosts this often fails: something about it kills them.
inline constexpr std::uint32_t kLostAttemptsMax = 100;
/// How long the failure of a rank waits to be classed: the verdict about a dead host takes at most
/// 3.5 s, and 2 s more to be logged. Counted in Ticks, so it may be shorter or longer by one.
/// Shorter charges a lost host to the user's retries; longer delays the report of a failed program.
inline constexpr Duration kClassWait = std::chrono::milliseconds(5500);

/// Call it when the attempt may have changed. If its job need not wait for it any more, the job
/// goes on, once.
void settle(Step& step, Attempt& attempt);
/// Call it when the host changed: settles all attempts that hold GPUs of it, and the unclassed.
void settle_host(Step& step, const HostId& host);
/// Call it when time passed: settles attempts whose failure waits to be classed.
void settle_unclassed(Step& step);

}  // namespace muster::scheduler
