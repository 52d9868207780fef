#include "scheduler/state/array_book.h"

#include <algorithm>

#include "gossip/base/check.h"
#include "scheduler/protocol/mutants.h"

namespace muster::scheduler {
namespace {

bool is_queued(JobState state) {
  return state == JobState::kQueued;
}

bool is_over(JobState state) {
  return state == JobState::kCompleted || state == JobState::kFailed ||
         state == JobState::kCancelled;
}

}  // namespace

JobState TaskArray::state() const {
  if (!has_ended()) {
    return active > queued ? JobState::kRunning : JobState::kQueued;
  }
  return failed != 0                               ? JobState::kFailed
         : cancelled != 0 || !cancelled_by.empty() ? JobState::kCancelled
                                                   : JobState::kCompleted;
}

bool TaskArray::may_adopt(std::uint32_t index) const {
  const bool is_skipped = std::any_of(skipped.begin(), skipped.end(), [&](const auto& run) {
    return run.first <= index && index <= run.second;
  });
  return !has_ended() && holds(index) && index >= next && !is_skipped &&
         !std::binary_search(adopted.begin(), adopted.end(), index);
}

void TaskArray::adopt(std::uint32_t index) {
  adopted.insert(std::lower_bound(adopted.begin(), adopted.end(), index), index);
}

void TaskArray::skip(std::uint32_t first, std::uint32_t last) {
  first = std::max(first, next);
  // Around each that is a job already.
  for (const std::uint32_t index : adopted) {
    if (index > last) {
      break;
    }
    if (index >= first) {
      if (index > first) {
        skip_run(first, index - 1);
      }
      first = index + 1;
    }
  }
  if (first <= last) {
    skip_run(first, last);
  }
}

void TaskArray::skip_run(std::uint32_t first, std::uint32_t last) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> runs;
  std::pair<std::uint32_t, std::uint32_t> made{first, last};
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
    cancelled += skipped.front().second - next + 1;
    next = skipped.front().second + 1;
    skipped.erase(skipped.begin());
  }
}

ArrayBook::ArrayBook(Arrays arrays) : arrays_(std::move(arrays)) {
  for (const auto& [id, array] : arrays_) {
    if (array.has_ended()) {
      ended_.insert({array.ended_index, id});
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
    return;  // It was lost with its quorum, and the task was adopted.
  }
  if (!is_new) {
    array->queued -= is_queued(from) ? 1 : 0;
    array->active -= is_over(from) ? 0 : 1;
  }
  array->queued += is_queued(to) ? 1 : 0;
  array->active += is_over(to) ? 0 : 1;
  array->completed += to == JobState::kCompleted ? 1 : 0;
  array->failed += to == JobState::kFailed && !mutant(SchedulerMutant::kTaskUncounted) ? 1 : 0;
  array->cancelled += to == JobState::kCancelled ? 1 : 0;
}

void ArrayBook::count(JobId task, JobState state) {
  if (TaskArray* array = find(array_of(task)); array != nullptr) {
    array->queued += is_queued(state) ? 1 : 0;
    array->active += is_over(state) ? 0 : 1;
  }
}

void ArrayBook::end(TaskArray& array, LogIndex index, std::int64_t unix_ms) {
  array.ended_index = index;
  array.spec.argv.resize(std::min<std::size_t>(array.spec.argv.size(), 1));
  array.spec.environment.clear();
  array.skipped.clear();
  array.adopted.clear();
  array.ended_unix_ms = unix_ms;
  ended_.insert(ended_.end(), {index, array.id});
  while (ended_.size() > kArraysEndedKept) {
    arrays_.erase(ended_.begin()->second);
    ended_.erase(ended_.begin());
  }
}

void ArrayBook::check(const std::map<JobId, Job>& jobs) const {
  std::map<JobId, std::pair<std::uint32_t, std::uint32_t>> counted;
  for (auto job = jobs.lower_bound(kFirstTask); job != jobs.end(); ++job) {
    auto& [queued, active] = counted[array_of(job->first)];
    queued += is_queued(job->second.state) ? 1 : 0;
    active += is_over(job->second.state) ? 0 : 1;
  }
  for (const auto& [id, array] : arrays_) {
    CHECK((std::pair(array.queued, array.active) == counted[id]));
    CHECK(array.has_ended() == ended_.contains({array.ended_index, id}));
    CHECK(array.has_ended() == (array.is_unfolded() && array.active == 0));
    std::uint32_t skipped = 0;
    for (const auto& [first, last] : array.skipped) {
      CHECK(first >= array.next && first <= last && last <= array.spec.array->last);
      skipped += last - first + 1;
    }
    CHECK(array.completed + array.failed + array.cancelled + array.active + skipped <=
          array.length());
    CHECK(array.folded() >= skipped);
  }
}

}  // namespace muster::scheduler
