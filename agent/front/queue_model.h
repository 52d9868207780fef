#pragma once
// The tree of queues, with the jobs and GPUs of each, for people to read. Pure functions over
// State.

#include <cstddef>
#include <set>
#include <string>

#include "agent/api/queues.h"
#include "agent/front/queue_load.h"
#include "scheduler/state/state.h"

namespace muster::agent {

/// The most PoolUse of one answer, over all queues: the last queues then list fewer pools.
inline constexpr std::size_t kPoolUsesMax = 8192;

QueueList queue_list(const scheduler::State& state);
/// Pools of which something is held or has a mean, or in which jobs wait.
std::set<std::string> pools_in_use(const scheduler::State& state, const QueueLoad& load);
/// Whether a job waits there that fits into what is left of the guarantee of the queue.
bool is_owed_there(const scheduler::State& state, const QueueLoad& load,
                   scheduler::QueueNumber queue, const std::string& pool);

}  // namespace muster::agent
