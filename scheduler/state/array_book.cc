#include "scheduler/state/array_book.h"

#include <algorithm>

#include "gossip/base/check.h"
#include "scheduler/protocol/mutants.h"
#include "scheduler/state/kept_bytes.h"

namespace muster::scheduler {
namespace {

bool is_over(JobState state) {
  return state == JobState::kCompleted || state == JobState::kFailed ||
         state == JobState::kCancelled;
}

std::size_t bytes_of(const TaskArray& array) {
  return kept_bytes_of_job(array.spec, array.key, array.submitted_by);
}

/// Adds `by` to the array's counts of jobs in `state`; UINT32_MAX takes one away.
void count_in(TaskArray& array, JobState state, std::uint32_t by) {
  array.queued += state == JobState::kQueued ? by : 0;
  array.suspended += state == JobState::kSuspended ? by : 0;
  array.active += is_over(state) ? 0 : by;
}

/// Number of tasks of `adopted`, which is ascending, in a run.
std::uint32_t adopted_in(const std::vector<std::uint32_t>& adopted, std::uint32_t first,
                         std::uint32_t last) {
  return static_cast<std::uint32_t>(std::upper_bound(adopted.begin(), adopted.end(), last) -
                                    std::lower_bound(adopted.begin(), adopted.end(), first));
}

}  // namespace

JobState TaskArray::state() const {
  if (!has_ended()) {
    return running() != 0 ? JobState::kRunning : JobState::kQueued;
  }
  return failed != 0                               ? JobState::kFailed
         : cancelled != 0 || !cancelled_by.empty() ? JobState::kCancelled
                                                   : JobState::kCompleted;
}

bool TaskArray::is_skipped(std::uint32_t index) const {
  return std::any_of(skipped.begin(), skipped.end(),
                     [&](const auto& run) { return run.first <= index && index <= run.second; });
}

std::uint32_t TaskArray::skipped_count() const {
  std::uint32_t count = 0;
  for (const auto& [first, last] : skipped) {
    count += spec.array->count(first, last) - adopted_in(adopted, first, last);
  }
  return count;
}

bool TaskArray::may_adopt(std::uint32_t index) const {
  return !has_ended() && holds(index) && index >= next && !is_skipped(index) &&
         !std::binary_search(adopted.begin(), adopted.end(), index);
}

void TaskArray::adopt(std::uint32_t index) {
  adopted.insert(std::lower_bound(adopted.begin(), adopted.end(), index), index);
}

void TaskArray::skip(std::uint32_t first, std::uint32_t last) {
  std::pair<std::uint32_t, std::uint32_t> made{std::max(first, next), last};
  if (made.first > made.second) {
    return;
  }
  std::vector<std::pair<std::uint32_t, std::uint32_t>> runs;
  for (const auto& run : skipped) {
    const bool touches = run.first <= made.second + 1 && made.first <= run.second + 1;
    if (touches) {
      made = {std::min(made.first, run.first), std::max(made.second, run.second)};
    } else {
      runs.push_back(run);
    }
  }
  runs.insert(std::lower_bound(runs.begin(), runs.end(), made), made);
  skipped = std::move(runs);
}

void TaskArray::pass_skipped() {
  while (!skipped.empty() && skipped.front().first <= next) {
    const std::uint32_t last = skipped.front().second;
    skipped.erase(skipped.begin());
    if (last < next) {
      continue;  // Between two tasks.
    }
    cancelled += spec.array->count(next, last) - adopted_in(adopted, next, last);
    adopted.erase(std::lower_bound(adopted.begin(), adopted.end(), next),
                  std::upper_bound(adopted.begin(), adopted.end(), last));
    next = spec.array->at_or_after(last + 1);
  }
}

void TaskArray::fail_folded() {
  cancelled += skipped_count();
  skipped.clear();
  adopted.clear();
  failed += folded();
  next = spec.array->last + 1;
}

ArrayBook::ArrayBook(Arrays arrays) : arrays_(std::move(arrays)) {
  for (const auto& [id, array] : arrays_) {
    if (array.has_ended()) {
      ended_.insert({array.ended_index, id});
      ended_bytes_ += bytes_of(array);
    }
  }
}

const TaskArray* ArrayBook::find(JobId id) const {
  const auto found = arrays_.find(id);
  return found == arrays_.end() ? nullptr : &found->second;
}

TaskArray* ArrayBook::find(JobId id) {
  const auto found = arrays_.find(id);
  return found == arrays_.end() ? nullptr : &found->second;
}

TaskArray& ArrayBook::add(TaskArray array) {
  const JobId id = array.id;
  return arrays_.insert_or_assign(arrays_.end(), id, std::move(array))->second;
}

void ArrayBook::on_moved(JobId task, JobState from, JobState to, bool is_new) {
  TaskArray* array = find(array_of(task));
  if (array == nullptr) {
    return;  // The array was lost with its quorum, and the task was adopted.
  }
  if (!is_new) {
    count_in(*array, from, UINT32_MAX);  // One less.
  }
  count_in(*array, to, 1);
  array->completed += to == JobState::kCompleted ? 1 : 0;
  array->failed += to == JobState::kFailed && !mutant(SchedulerMutant::kTaskUncounted) ? 1 : 0;
  array->cancelled += to == JobState::kCancelled ? 1 : 0;
}

void ArrayBook::count(JobId task, JobState state) {
  if (TaskArray* array = find(array_of(task)); array != nullptr) {
    count_in(*array, state, 1);
  }
}

void ArrayBook::end(TaskArray& array, LogIndex index, std::int64_t unix_ms) {
  array.ended_index = index;
  array.ended_unix_ms = unix_ms;
  ended_.insert(ended_.end(), {index, array.id});
  ended_bytes_ += bytes_of(array);
  // This one may be the first, by its number, of many that end by the same entry.
  while (ended_.begin()->second != array.id &&
         (ended_.size() > kArraysEndedKept || ended_bytes_ > kArraysEndedBytesMax)) {
    const auto first = arrays_.find(ended_.begin()->second);
    ended_bytes_ -= bytes_of(first->second);
    arrays_.erase(first);
    ended_.erase(ended_.begin());
  }
}

void ArrayBook::check(const std::map<JobId, Job>& jobs) const {
  ArrayBook counted(arrays_);
  CHECK(counted.ended_ == ended_ && counted.ended_bytes_ == ended_bytes_);
  for (auto& [id, array] : counted.arrays_) {
    array.queued = array.suspended = array.active = 0;
  }
  for (auto job = jobs.lower_bound(kFirstTask); job != jobs.end(); ++job) {
    counted.count(job->first, job->second.life.state);
  }
  CHECK(counted == *this);
  for (const auto& [id, array] : arrays_) {
    CHECK(array.has_ended() == (array.is_unfolded() && array.active == 0));
    CHECK(array.completed + array.failed + array.cancelled + array.active <= array.length());
    CHECK(array.folded() >= array.skipped_count());
    CHECK(array.adopted.empty() || array.adopted.front() >= array.next);
    for (const auto& [first, last] : array.skipped) {
      CHECK(first >= array.next && first <= last && last <= array.spec.array->last);
    }
  }
}

}  // namespace muster::scheduler
