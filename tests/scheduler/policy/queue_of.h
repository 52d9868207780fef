#pragma once
// The order in which the jobs of a state are tried, leaf by leaf, by an index made for this one
// question. While nobody has set queues there is one leaf.

#include <vector>

#include "scheduler/policy/pending_index.h"

namespace muster::scheduler::testing {

inline std::vector<JobId> queue_of(const State& state) {
  const PendingIndex pending(state);
  std::vector<JobId> jobs;
  for (const auto& [leaf, queue] : pending.queue()) {
    for (const QueueKey& key : queue) {
      jobs.push_back(key.job);
    }
  }
  return jobs;
}

}  // namespace muster::scheduler::testing
