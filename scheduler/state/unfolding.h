#pragma once
// Unfolding of arrays: tasks become jobs as others leave the queue, and an array ends with its last
// task. Rules over ArrayBook.

#include <set>
#include <string>
#include <vector>

#include "scheduler/protocol/entry.h"
#include "scheduler/state/step.h"

namespace muster::scheduler {

/// Adds an array under a number of its own. Precondition: the log takes it.
void add_array(Step& step, entry::Submit& fact, JobWait wait);
/// For each array of which a task moved in this step: makes jobs of the next tasks, as many as may
/// wait and run at once, and ends the array with its last task. An array with open conditions makes
/// no jobs. Returns these arrays. Called by settle_waits() alone.
std::set<JobId> settle_arrays(Step& step);
/// Tasks of first..last that are jobs and have not ended.
std::vector<JobId> tasks_of(const Books& books, const TaskArray& array, std::uint32_t first = 0,
                            std::uint32_t last = kTaskIndexMax);
/// Notes that those of tasks first..last whose turn has not come end in this state: they become no
/// jobs.
void note_folded(Step& step, const TaskArray& array, std::uint32_t first, std::uint32_t last,
                 JobState state);
/// Cancels those of tasks first..last whose turn has not come: they do not become jobs. Returns
/// the others, as tasks_of().
std::vector<JobId> cancel_folded(Step& step, TaskArray& array, std::uint32_t first,
                                 std::uint32_t last, const std::string& by);

}  // namespace muster::scheduler
