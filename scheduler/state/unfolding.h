#pragma once
// Unfolding: the turn of an array's tasks comes, and they become jobs, as others leave the queue;
// with the last one the array ends. The rules over ArrayBook.

#include <string>
#include <vector>

#include "scheduler/protocol/entry.h"
#include "scheduler/state/step.h"

namespace muster::scheduler {

/// The array enters under a number of its own. Precondition: the log takes it.
void add_array(Step& step, entry::Submit& fact);
/// Of each array of which a task moved in this step: the next tasks become jobs, as many as may
/// wait and run at once, and it ends with its last one. Last in a step.
void settle_arrays(Step& step);
/// Tasks of first..last that are jobs and have not ended.
std::vector<JobId> tasks_of(const Books& books, const TaskArray& array, std::uint32_t first = 0,
                            std::uint32_t last = kTaskIndexMax);
/// Of tasks first..last those whose turn has not come will be no jobs. Gives the others:
/// tasks_of().
std::vector<JobId> cancel_folded(Step& step, TaskArray& array, std::uint32_t first,
                                 std::uint32_t last, const std::string& by);

}  // namespace muster::scheduler
