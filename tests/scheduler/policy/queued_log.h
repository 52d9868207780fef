#pragma once
// A log with the index of its waiting jobs, which hears each change, and verbs for queues.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/policy/pending_index.h"
#include "tests/scheduler/state/cluster.h"

namespace muster::scheduler::testing {

inline QueueNode queue_node(const std::string& path, std::uint32_t weight = 1) {
  QueueNode node;
  node.path = path;
  node.weight = weight;
  return node;
}

class QueuedLog {
 public:
  ApplyResult apply(const Entry& entry) {
    ApplyResult result = log.apply(entry);
    for (const HostId& host : result.hosts_changed) {
      pending.on_host(log.state, host);
    }
    if (result.queues_changed) {
      pending.on_queues(log.state);
      return result;
    }
    for (const AttemptShare& share : result.shares_changed) {
      pending.on_share(log.state, share);
    }
    if (result.credits_changed) {
      pending.on_credits(log.state);
    }
    for (const JobId job : result.jobs_moved) {
      pending.on_changed(log.state, job);
    }
    return result;
  }
  /// Nodes in the order of their paths.
  ApplyResult set_queues(std::vector<QueueNode> nodes) {
    QueueTree tree;
    tree.nodes = std::move(nodes);
    return apply(entry::SetQueues{log.state.queues().version(), tree, {}, {}});
  }
  JobId submit(std::uint32_t gpus, std::int32_t priority = 0) {
    JobSpec spec = spec_of(gpus);
    spec.priority = priority;
    return submit(std::move(spec));
  }
  JobId submit(const std::string& queue, const std::string& user, std::uint32_t gpus,
               Tier tier = Tier::kNone) {
    JobSpec spec = spec_of(gpus);
    spec.queue = queue;
    spec.user = user;
    spec.tier = tier;
    return submit(std::move(spec));
  }
  /// JobId() if the log refuses it.
  JobId submit(JobSpec spec) {
    return apply(entry::Submit{"key" + std::to_string(++keys_), std::move(spec), "alice"}).job;
  }
  ApplyResult decide(JobId job, std::vector<Member> members) {
    return apply(entry::Decide{job, log.state.job(job)->life.attempts + 1, std::move(members),
                               std::chrono::minutes(2), std::chrono::seconds(10),
                               std::chrono::seconds(10)});
  }

  Log log;
  PendingIndex pending{log.state};

 private:
  std::uint64_t keys_ = 0;
};

}  // namespace muster::scheduler::testing
