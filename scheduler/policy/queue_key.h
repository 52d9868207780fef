#pragma once
// The order in which jobs are tried: the only comparison of two waiting jobs. The state knows which
// jobs wait (Job::is_pending), but not their order.

#include <cstdint>
#include <set>

#include "scheduler/state/job_record.h"

namespace muster::scheduler {

/// By priority, then by submission; tasks stand where their array does. A job that is queued again
/// keeps its id, hence its place.
struct QueueKey {
  std::int32_t priority = 0;
  JobId job;
  bool operator==(const QueueKey&) const = default;
  bool operator<(const QueueKey& other) const {
    if (priority != other.priority) {
      return priority > other.priority;
    }
    const JobId mine = array_of(job);
    const JobId its = array_of(other.job);
    return mine != its ? mine < its : job < other.job;
  }
};

/// The place of a job that waits, or would wait.
inline QueueKey queue_key_of(const Job& job) {
  return {job.orders.priority, job.id};
}

/// Best first.
using Queue = std::set<QueueKey>;

}  // namespace muster::scheduler
