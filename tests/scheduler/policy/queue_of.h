#pragma once
// The order in which the jobs of a state are tried, by an index made for this one question.

#include <vector>

#include "scheduler/policy/pending_index.h"

namespace muster::scheduler::testing {

inline std::vector<JobId> queue_of(const State& state) {
  const PendingIndex pending(state);
  std::vector<JobId> jobs;
  for (const QueueKey& key : pending.queue()) {
    jobs.push_back(key.job);
  }
  return jobs;
}

}  // namespace muster::scheduler::testing
