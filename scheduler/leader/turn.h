#pragma once
// What one step of the scheduler gives each part of the leader: the moment, what to look at, and
// where to speak. It is made for one call and lives as long as that; no part keeps it.

#include "gossip/base/time.h"
#include "scheduler/leader/expire_timers.h"
#include "scheduler/leader/outputs.h"
#include "scheduler/leader/scheduler_config.h"
#include "scheduler/leader/seen_hosts.h"
#include "scheduler/placement/capacity.h"
#include "scheduler/policy/pending_index.h"
#include "scheduler/state/state.h"

namespace muster::scheduler {

struct Turn {
  Instant now;
  const SchedulerConfig& config;
  const State& state;
  const SeenHosts& seen;
  const ExpireTimers& expire_timers;
  Capacity& capacity;
  PendingIndex& pending;
  SchedulerOutput& output;
  std::int64_t unix_ms = 0;  ///< What entries say of the wall clock.
};

}  // namespace muster::scheduler
