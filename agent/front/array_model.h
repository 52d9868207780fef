#pragma once
// Arrays as clients see them: one line for each array of any length. Pure functions over the state
// of one voter.

#include <cstdint>
#include <optional>
#include <string>

#include "agent/api/jobs.h"
#include "agent/front/outlook.h"
#include "scheduler/state/state.h"

namespace muster::agent {

/// The line of an array. Its hosts are those of the tasks that run. Its GPU time is that of the
/// tasks that are still kept.
JobSummary array_summary(const scheduler::State& state, const scheduler::TaskArray& array,
                         const HostViews& hosts);
/// The same with the states of its tasks and with the failed tasks.
JobDetail array_detail(const scheduler::State& state, const scheduler::TaskArray& array,
                       const HostViews& hosts);
/// The task that `why` explains for its array: the first one that waits in the queue, otherwise the
/// first one that has not ended. nullopt if there is no such task.
std::optional<JobId> telling_task(const scheduler::State& state, const scheduler::TaskArray& array);
/// The state of a task that is no job: it waits for its turn, was cancelled or has ended. "" if the
/// array has no such task.
std::string text_of_folded(const scheduler::TaskArray& array, JobId task);

}  // namespace muster::agent
