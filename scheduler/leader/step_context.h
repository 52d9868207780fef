#pragma once
// StepContext: the context that one step of the scheduler gives each part of the leader: the time,
// the data to read, and the output. It lives as long as one call; no part keeps it.

#include "gossip/base/time.h"
#include "scheduler/leader/expire_timers.h"
#include "scheduler/leader/outputs.h"
#include "scheduler/leader/scheduler_config.h"
#include "scheduler/leader/seen_hosts.h"
#include "scheduler/placement/capacity.h"
#include "scheduler/policy/pending_index.h"
#include "scheduler/policy/run_times.h"
#include "scheduler/state/state.h"

namespace muster::scheduler {

struct StepContext {
  Instant now;
  const SchedulerConfig& config;
  const State& state;
  const SeenHosts& seen;
  const ExpireTimers& expire_timers;
  Capacity& capacity;
  PendingIndex& pending;
  const RunTimes& run_times;
  SchedulerOutput& output;
  std::int64_t unix_ms = 0;  ///< The wall clock, for entries.
};

}  // namespace muster::scheduler
