#pragma once
// The tree of queues, with the jobs and GPUs of each, for people to read. Pure functions over
// State.

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "agent/api/queues.h"
#include "agent/front/job_sight.h"
#include "agent/front/queue_load.h"
#include "scheduler/policy/owed_waits.h"
#include "scheduler/state/state.h"

namespace muster::agent {

/// The most PoolUse of one answer, over all queues: the last queues then list fewer pools.
inline constexpr std::size_t kPoolUsesMax = 8192;

/// The facts beside the state that a list of queues is made from.
struct QueueViews {
  std::int64_t now_unix_ms = 0;     ///< The wall clock; 0 = jobs wait in cluster time.
  const JobSight* sight = nullptr;  ///< Jobs that it hides are not named; null = it names all.
  /// With scheduler::kOwedWaitTold.
  std::vector<scheduler::OwedWait> owed{};
};
QueueList queue_list(const scheduler::State& state, const QueueViews& views = {});
/// Pools of which something is held or has a mean, or in which jobs wait.
std::set<std::string> pools_in_use(const scheduler::State& state, const QueueLoad& load);
/// Whether a job waits there that fits into what is left of the guarantee of the queue.
bool is_owed_there(const scheduler::State& state, const QueueLoad& load,
                   scheduler::QueueNumber queue, const std::string& pool);

}  // namespace muster::agent
