#include "scheduler/state/unfolding.h"

#include <algorithm>
#include <set>
#include <utility>

#include "scheduler/state/forgetting.h"
#include "scheduler/state/job_moves.h"

namespace muster::scheduler {
namespace {

/// The environment of a task: that of the array, and two more variables.
std::vector<std::string> environment_of(const TaskArray& array, std::uint32_t index) {
  std::vector<std::string> environment = array.spec.command.environment;
  environment.push_back("MUSTER_ARRAY_JOB_ID=" + std::to_string(array.id.value()));
  environment.push_back("MUSTER_ARRAY_INDEX=" + std::to_string(index));
  return environment;
}

/// How many tasks of the array may be jobs in the queue. If the queue is full, or has too many
/// bytes, it takes a task only of an array without any active task, so that each array goes on.
std::uint32_t waiting_max(const Books& books, const TaskArray& array) {
  const bool is_full = books.jobs.waiting() >= kJobsQueuedMax ||
                       !books.sizes.has_room_for_job(kept_bytes_of_job(array.spec, "", ""));
  const std::uint32_t tried = array.completed + array.failed + array.running();
  if (is_full) {
    return array.active == 0 ? 1 : 0;
  }
  // Tasks that pause after a failure do not keep other tasks from their turn.
  const std::uint32_t pausing = std::min(books.jobs.pausing_tasks(array.id), kTasksPausingMax);
  return std::min(kTasksWaitingMax, 1 + tried) + pausing;
}

void unfold(Step& step, TaskArray& array) {
  const ArrayRange& range = *array.spec.array;
  array.pass_skipped();
  while (!array.is_unfolded() && (range.at_once == 0 || array.active < range.at_once) &&
         array.queued < waiting_max(step.books, array)) {
    const JobId id = task_id(array.id, array.next);
    array.next = range.at_or_after(array.next + 1);
    // After a recovery it may have been adopted, and have ended since.
    if (array.adopted.empty() || array.adopted.front() != index_of_task(id)) {
      Job task;
      task.id = id;
      task.spec = array.spec;
      task.spec.array.reset();
      task.spec.priority = array.priority;
      task.spec.command.environment = environment_of(array, index_of_task(id));
      task.submitted_by = array.submitted_by;
      add_job(step, std::move(task), "next of its array");
      step.result.capacity_changed = true;
    } else {
      array.adopted.erase(array.adopted.begin());
    }
    array.pass_skipped();
  }
}

void end(Step& step, TaskArray& array) {
  step.books.eligibility.remove(array.id, array.wait);
  step.books.sizes.remove_unfinished(kept_bytes_of_job(array.spec, array.key, array.submitted_by));
  step.books.arrays.end(array, step.index, step.unix_ms);
  step.ended.emplace_back(array.id, array.state());
  step.result.events.push_back({Severity::kInfo,
                                "array_ended",
                                {{"job", text_of(array.id)},
                                 {"state", std::string(text_of(array.state()))},
                                 {"completed", std::to_string(array.completed)},
                                 {"failed", std::to_string(array.failed)},
                                 {"cancelled", std::to_string(array.cancelled)},
                                 {"index", std::to_string(step.index.value())}}});
}

}  // namespace

void add_array(Step& step, entry::Submit& fact, JobWait wait) {
  Books& books = step.books;
  TaskArray array;
  array.id = books.jobs.give_number();
  array.spec = std::move(fact.spec);
  array.key = fact.key;
  array.submitted_by = fact.by.name;
  array.priority = array.spec.priority;
  array.next = array.spec.array->first;
  array.submitted_at = books.cluster_time;
  array.submitted_unix_ms = step.unix_ms;
  array.wait = std::move(wait);
  books.eligibility.add(array.id, array.wait);
  step.result.job = array.id;
  books.sizes.add_unfinished(kept_bytes_of_job(array.spec, array.key, array.submitted_by));
  keep_key(step, array.key, array.id);
  step.result.events.push_back({Severity::kInfo,
                                "array_submitted",
                                {{"job", text_of(array.id)},
                                 {"tasks", std::to_string(array.length())},
                                 {"index", std::to_string(step.index.value())}}});
  step.arrays_moved.push_back(array.id);
  books.arrays.add(std::move(array));
}

std::set<JobId> settle_arrays(Step& step) {
  const std::set<JobId> moved(step.arrays_moved.begin(), step.arrays_moved.end());
  for (const JobId id : moved) {
    TaskArray* array = step.books.arrays.find(id);
    if (array == nullptr || array->has_ended()) {
      continue;
    }
    if (array->wait.is_open()) {
      array->pass_skipped();  // Somebody may have cancelled tasks, or all of it.
    } else {
      unfold(step, *array);
    }
    step.books.waiting.recount(*array);
    if (array->is_unfolded() && array->active == 0) {
      end(step, *array);
    }
  }
  step.arrays_moved.clear();
  return moved;
}

std::vector<JobId> tasks_of(const Books& books, const TaskArray& array, std::uint32_t first,
                            std::uint32_t last) {
  std::vector<JobId> tasks;
  const std::map<JobId, Job>& all = books.jobs.all();
  const JobId end = task_id(array.id, last);
  for (auto job = all.lower_bound(task_id(array.id, first)); job != all.end() && job->first <= end;
       ++job) {
    if (!job->second.has_ended()) {
      tasks.push_back(job->first);
    }
  }
  return tasks;
}

void note_folded(Step& step, const TaskArray& array, std::uint32_t first, std::uint32_t last,
                 JobState state) {
  for (const JobId task :
       step.books.eligibility.awaited_tasks(array.id, std::max(first, array.next), last)) {
    // An adopted task is a job, or was.
    if (!std::binary_search(array.adopted.begin(), array.adopted.end(), index_of_task(task))) {
      step.ended.emplace_back(task, state);
    }
  }
}

std::vector<JobId> cancel_folded(Step& step, TaskArray& array, std::uint32_t first,
                                 std::uint32_t last, const std::string& by) {
  const ArrayRange& range = *array.spec.array;
  first = std::max(first, range.first);
  last = std::min(last, range.last);
  if (first == range.first && last == range.last) {
    array.cancelled_by = by;
  }
  std::vector<JobId> jobs = tasks_of(step.books, array, first, last);
  if (last >= array.next) {
    note_folded(step, array, first, last, JobState::kCancelled);
    array.skip(first, last);
  }
  step.arrays_moved.push_back(array.id);
  return jobs;
}

}  // namespace muster::scheduler
