#pragma once
// The order in which jobs of one leaf are tried: the only comparison of two waiting jobs. The state
// knows which jobs wait (Job::is_pending), but not their order. Leaves stand in the tree of queues;
// share_order.h says which of them is next.

#include <bit>
#include <chrono>
#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "scheduler/state/job_record.h"
#include "scheduler/state/queue_book.h"

namespace muster::scheduler {

/// By tier, by priority, then by submission; tasks stand where their array does. A job that is
/// queued again keeps its id, hence its place.
struct QueueKey {
  Tier tier = Tier::kStandard;
  std::int32_t priority = 0;
  JobId job;
  bool operator==(const QueueKey&) const = default;
  bool operator<(const QueueKey& other) const {
    if (tier != other.tier) {
      return tier > other.tier;
    }
    if (priority != other.priority) {
      return priority > other.priority;
    }
    const JobId mine = array_of(job);
    const JobId its = array_of(other.job);
    return mine != its ? mine < its : job < other.job;
  }
};

/// The place of a job that waits, or would wait. A job without a tier, from before there were
/// tiers, counts as Tier::kStandard.
inline QueueKey queue_key_of(const Job& job) {
  const Tier tier = job.spec.tier == Tier::kNone ? Tier::kStandard : job.spec.tier;
  return {tier, job.orders.priority, job.id};
}

/// Best first.
using Queue = std::set<QueueKey>;

/// The jobs of one user in one queue, or all jobs of a queue whose users share one leaf.
struct Leaf {
  QueueNumber queue = kRootQueue;
  std::string user;  ///< "" if its users share it.
  auto operator<=>(const Leaf&) const = default;
};

/// The leaf of a job with that spec; the spec names a queue of this tree, or one that is gone.
inline Leaf leaf_of(const QueueBook& queues, const JobSpec& spec) {
  const QueueNumber queue = queues.number_of(spec.queue);
  return {queue, queues.at(queue).node.is_fifo ? std::string() : spec.user};
}

/// Limits of one length differ by less than a factor of two. 0: no limit.
inline std::int32_t length_of(Duration limit) {
  const auto minutes = std::chrono::duration_cast<std::chrono::minutes>(limit).count();
  return limit == Duration::zero()
             ? 0
             : static_cast<std::int32_t>(std::bit_width(static_cast<std::uint64_t>(minutes))) + 1;
}

/// The jobs that wait; no queue in it is empty.
using LeafQueues = std::map<Leaf, Queue>;

}  // namespace muster::scheduler
