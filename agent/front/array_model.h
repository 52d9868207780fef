#pragma once
// Arrays as clients see them: a line each, whatever their length. Pure, of one voter's state.

#include <cstdint>
#include <optional>
#include <string>

#include "agent/api/jobs.h"
#include "agent/front/outlook.h"
#include "scheduler/state/state.h"

namespace muster::agent {

/// Its hosts are those of the tasks at work, its GPU time that of the tasks which are still kept.
JobSummary array_summary(const scheduler::State& state, const scheduler::TaskArray& array,
                         const HostViews& hosts);
/// With what its tasks are at, and those that failed.
JobDetail array_detail(const scheduler::State& state, const scheduler::TaskArray& array,
                       const HostViews& hosts);
/// Which of its tasks `why` is best asked about: the first that waits, else the first that runs;
/// null = no task does.
std::optional<JobId> telling_task(const scheduler::State& state, const scheduler::TaskArray& array);
/// Of a task that is no job: that it waits for its turn, or what became of it; "" = the array has
/// no such task.
std::string text_of_folded(const scheduler::TaskArray& array, JobId task);

}  // namespace muster::agent
