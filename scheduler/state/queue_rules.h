#pragma once
// Rules of the tree of queues: what SetQueues does to the tree, the jobs and their shares, and the
// queue, tier and time limit of a job that is submitted. Rules over the books.

#include "gossip/base/result.h"
#include "scheduler/protocol/queues.h"
#include "scheduler/state/books.h"
#include "scheduler/state/step.h"

namespace muster::scheduler {

/// Time limits of jobs that name none, once queues are set; an inference job has none.
inline constexpr Duration kStandardLimit = std::chrono::hours(24);  ///< Premium, too.
inline constexpr Duration kInteractiveLimit = std::chrono::hours(8);
inline constexpr Duration kBatchLimit = std::chrono::hours(2);

/// The time limit of a job of that tier in that leaf; 0 = none. `asked`: 0 = the usual one of the
/// tier, kNoTimeLimit = none. kInvalid: it is not possible there.
Result<Duration> limit_in(const QueueBook& queues, QueueNumber leaf, Tier tier, Duration asked);
/// Fills in what the submitter of the job left to the log: queue, tier and time limit, which is 0
/// then if the job has none. kNotFound: there is no such queue. kDenied: its user is no member of
/// it. kInvalid: queue, tier or time limit is not possible. kImpossible: it could never start
/// there. After an error `spec` is unchanged.
Status settle_queue(const Books& books, JobSpec& spec);
/// Replaces the tree. kConflict: it was changed meanwhile. kInvalid: the tree is not valid, a move
/// is not possible, or jobs would be left without a queue. Moves the tree out of `fact`.
void on_set_queues(Step& step, entry::SetQueues& fact);

}  // namespace muster::scheduler
