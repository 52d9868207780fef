#pragma once
// OwedWait: a queue that is owed some of its guarantee in a pool, and the job of it that is next
// there. It goes before the jobs of other queues, so that a long wait of it is for somebody to look
// at. Pure functions over the state and the jobs that wait: they decide nothing.

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "gossip/base/ids.h"
#include "gossip/base/time.h"
#include "scheduler/placement/capacity.h"
#include "scheduler/policy/queue_key.h"
#include "scheduler/state/state.h"

namespace muster::scheduler {

/// From such a wait on people see it beside the queue and the job.
inline constexpr Duration kOwedWaitTold = std::chrono::minutes(10);
/// From such a wait on the job starves: a leader tells it as an event.
inline constexpr Duration kStarvingAfter = std::chrono::minutes(30);

struct OwedWait {
  QueueNumber queue{};
  std::string pool;  ///< A folded GPU type or kCpuPool.
  JobId job;
  std::string key;         ///< Of the guarantee: `pool`, kAllGpus or kCpus.
  std::uint64_t owed = 0;  ///< The rest of it, in thousandths of a GPU or CPU.
  /// Since the submit, or since it ceased to wait for other jobs or a time; of a job that ran,
  /// since it is queued again.
  std::uint64_t waited_ms = 0;
};

/// Time since a moment, of which the cluster time and a wall clock are known: by wall clocks if
/// both are known (not 0), else in cluster time.
std::uint64_t waited_ms(const State& state, Duration since, std::int64_t since_unix_ms,
                        std::int64_t now_unix_ms);

/// Waits whose job has waited for `least`, queues in the order of the tree: a queue stands behind
/// those above it. At most one for each queue and pool. `queue` are the waiting jobs of `state`; of
/// a leaf the first ones are looked at. O(leaves and queues below a guarantee * pools).
std::vector<OwedWait> owed_waits(const State& state, Capacity& capacity, const LeafQueues& queue,
                                 std::int64_t now_unix_ms, Duration least);

/// One line for people: "research/nlp is owed 64 H100 and waits 12 min: 24 of the 40 GPUs of the
/// job fit now, other queues hold 352". Precondition: owed_waits() of that state returned it.
std::string owed_text(const State& state, Capacity& capacity, const OwedWait& wait);

}  // namespace muster::scheduler
