#pragma once
// QueueLoad: how many jobs wait and run in each queue, and in which pools they wait. A job counts
// in its queue and in all above it; a task that is no job yet counts as one that waits. Jobs that
// wait for others, or for their begin, are pending and nothing else: they ask for nothing yet.
// Pure.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "agent/api/queues.h"
#include "agent/front/fleet_pools.h"
#include "scheduler/state/state.h"

namespace muster::agent {

struct WaitingJobs {
  std::uint64_t count = 0;
  /// The smallest of scheduler::least_charge_of() among them, in thousandths; UINT64_MAX without
  /// jobs.
  std::uint64_t least_charge = UINT64_MAX;
  bool operator==(const WaitingJobs&) const = default;

  void add(const WaitingJobs& more);
};

/// The jobs that wait in one pool. A job that accepts several GPU types waits in several pools.
struct WaitingInPool {
  std::vector<WaitingJobs> queues;  ///< By number.
  /// Of queues whose users have a leaf each.
  std::map<scheduler::ShareBook::UserKey, WaitingJobs> users;
};

struct QueueCounts {
  std::uint64_t pending = 0;  ///< All jobs that are queued.
  std::uint64_t running = 0;  ///< Jobs with an attempt.
  /// Of jobs that could start, the highest tier first. Jobs without a tier count as
  /// Tier::kStandard.
  std::map<scheduler::Tier, TierWaits, std::greater<>> waits;
};

struct QueueLoad {
  std::vector<QueueCounts> counts;  ///< By number.
  std::map<std::string, WaitingInPool, std::less<>> pools;

  WaitingJobs waiting(scheduler::QueueNumber queue, std::string_view pool) const;
};

/// One walk over the jobs and one over the arrays. `fleet`: of that state.
/// `now_unix_ms`: the wall clock by which jobs wait; 0 = they wait in cluster time.
QueueLoad queue_load(const scheduler::State& state, const FleetPools& fleet,
                     std::int64_t now_unix_ms = 0);

}  // namespace muster::agent
