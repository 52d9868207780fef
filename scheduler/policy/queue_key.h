#pragma once
// The order in which jobs are tried: the one comparison of two jobs that wait. The state knows
// which jobs wait (Job::is_pending), and not which of them is first.

#include <cstdint>
#include <set>

#include "scheduler/state/job_record.h"

namespace muster::scheduler {

/// Priority, then submission, tasks where their array is. A job that is queued again keeps its id,
/// hence its place.
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

/// The place of a job that waits, or of one that would.
inline QueueKey queue_key_of(const Job& job) {
  return {job.orders.priority, job.id};
}

/// Best first.
using Queue = std::set<QueueKey>;

}  // namespace muster::scheduler
