#include "scheduler/state/eligibility_rules.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "gossip/base/check.h"
#include "scheduler/protocol/codec.h"
#include "scheduler/protocol/mutants.h"
#include "scheduler/state/job_moves.h"
#include "scheduler/state/unfolding.h"

namespace muster::scheduler {
namespace {

/// How the job, task or array of a condition stands.
struct Target {
  bool is_known = false;
  bool has_ended = false;
  /// Its end; of an array that goes on, that of a task that did not complete.
  JobState state = JobState::kQueued;
};

Target target_of(const TaskArray& array) {
  if (array.has_ended()) {
    return {true, true, array.state()};
  }
  return {true, false,
          array.failed != 0                                    ? JobState::kFailed
          : array.cancelled != 0 || array.skipped_count() != 0 ? JobState::kCancelled
                                                               : JobState::kQueued};
}

/// Unknown: no such job, or one that ended and is forgotten.
Target target_of(const Books& books, JobId id) {
  if (const Job* job = books.jobs.find(id)) {
    return {true, job->has_ended(), job->has_ended() ? job->life.state : JobState::kQueued};
  }
  const TaskArray* array = books.arrays.find(array_of(id));
  if (array == nullptr) {
    return {};
  }
  if (!is_task(id)) {
    return target_of(*array);
  }
  const std::uint32_t index = index_of_task(id);
  if (!array->holds(index)) {
    return {};
  }
  if (array->is_skipped(index)) {
    return {true, true, JobState::kCancelled};
  }
  return {index >= array->next, false, JobState::kQueued};
}

enum class Standing : std::uint8_t { kOpen, kMet, kNever };

Standing standing_of(Ending wanted, const Target& target) {
  const bool is_bad = target.state == JobState::kFailed || target.state == JobState::kCancelled;
  if (!target.has_ended) {
    return wanted == Ending::kOk && is_bad ? Standing::kNever : Standing::kOpen;
  }
  const bool is_met = wanted == Ending::kAny || (wanted == Ending::kFail) == is_bad ||
                      (mutant(SchedulerMutant::kFailedIsOk) && wanted == Ending::kOk &&
                       target.state == JobState::kFailed);
  return is_met ? Standing::kMet : Standing::kNever;
}

/// "it was to start after job 7 succeeded, and job 7 failed"
std::string never_text(const Dependency& item, const Target& target) {
  const std::string name = "job " + text_of(item.job);
  const std::string end =
      (target.state == JobState::kCancelled ? "was " : "") + std::string(text_of(target.state));
  return "it was to start after job " + condition_text(item) + ", and " +
         (target.has_ended ? name : "a task of it") + " " + end;
}

/// Null if there is no such job or array.
const JobWait* find_wait(const Books& books, JobId id) {
  if (const Job* job = books.jobs.find(id)) {
    return &job->life.wait;
  }
  const TaskArray* array = books.arrays.find(id);
  return array == nullptr ? nullptr : &array->wait;
}

/// Cancels a job or array that can never begin.
void give_up(Step& step, JobId id, std::string reason) {
  if (Job* const job = step.books.jobs.find(id)) {
    end_job(step, *job, JobEvent::kCancel, kExitCancelled, std::move(reason));
    return;
  }
  TaskArray& array = *step.books.arrays.find(id);
  JobWait wait = array.wait;
  wait.ended_by = std::move(reason);
  wait.begin_at = wait.deadline_at = Duration::zero();
  set_wait(step, id, std::move(wait));
  // Tasks that a recovery adopted run to their end.
  cancel_folded(step, array, array.spec.array->first, array.spec.array->last, "");
}

/// Settles the condition that this job or array has about `over`.
void tell(Step& step, const Over& over, JobId dependent) {
  const JobWait* before = find_wait(step.books, dependent);
  CHECK(before != nullptr);
  const Target target{true, over.has_ended, over.state};
  JobWait wait = *before;
  std::string never;
  for (JobWait::Item& each : wait.after) {
    if (each.is_met || each.asked.job != over.id) {
      continue;
    }
    const Standing standing = standing_of(each.asked.ending, target);
    each.is_met = standing == Standing::kMet;
    never = standing == Standing::kNever ? never_text(each.asked, target) : std::move(never);
  }
  if (!never.empty()) {
    give_up(step, dependent, std::move(never));
  } else {
    set_wait(step, dependent, std::move(wait));
  }
}

void fail_array(Step& step, TaskArray& array) {
  JobWait wait = array.wait;
  wait.ended_by = kTooLate;
  wait.begin_at = wait.deadline_at = Duration::zero();
  set_wait(step, array.id, std::move(wait));
  for (const JobId task : tasks_of(step.books, array)) {
    end_job(step, step.books.jobs.at(task), JobEvent::kFailed, kExitTooLate, std::string(kTooLate));
  }
  note_folded(step, array, array.spec.array->first, array.spec.array->last, JobState::kFailed);
  array.fail_folded();
  step.arrays_moved.push_back(array.id);
}

/// The deadline of the job or array has passed, and it has not started. One with an attempt that
/// may still start is left until that is over. False if it is left.
bool be_late(Step& step, JobId id) {
  if (Job* const job = step.books.jobs.find(id)) {
    if (!job->life.current.is_none()) {
      return false;
    }
    end_job(step, *job, JobEvent::kFailed, kExitTooLate, std::string(kTooLate));
    return true;
  }
  TaskArray& array = *step.books.arrays.find(id);
  if (array.running() != 0) {
    return false;
  }
  fail_array(step, array);
  return true;
}

/// Settles arrays, and notes what ended in this step for those that wait for it.
void note_ends(Step& step) {
  EligibilityBook& conditions = step.books.eligibility;
  while (!step.arrays_moved.empty() || !step.ended.empty()) {
    for (const JobId id : settle_arrays(step)) {
      const TaskArray* array = step.books.arrays.find(id);
      if (array == nullptr || array->has_ended()) {
        continue;
      }
      if (const Target target = target_of(*array); target.state != JobState::kQueued) {
        conditions.note({id, target.state, false});
      }
    }
    for (const auto& [id, state] : std::exchange(step.ended, {})) {
      conditions.note({id, state, true});
    }
  }
}

/// Fails those whose deadline has passed, then lets those begin whose time has come. Returns how
/// many, at most `most`.
std::size_t settle_times(Step& step, std::size_t most) {
  const Books& books = step.books;
  std::size_t moved = 0;
  // After a recovery a job may prove to have started in time: it is adopted.
  if (!books.epochs.is_recovering(books.cluster_time)) {
    for (const JobId id : books.eligibility.late(books.cluster_time, most)) {
      moved += be_late(step, id) ? 1 : 0;
    }
  }
  const Duration early =
      mutant(SchedulerMutant::kBeginEarly) ? Duration(std::chrono::seconds(5)) : Duration::zero();
  for (const JobId id : books.eligibility.begun(books.cluster_time + early, most - moved)) {
    JobWait wait = *find_wait(books, id);
    wait.begin_at = Duration::zero();
    set_wait(step, id, std::move(wait));
    ++moved;
  }
  return moved;
}

Status check_span(Duration span, std::string_view what) {
  if (span < Duration::zero() || span > kSpanMax) {
    return Error{ErrorCode::kInvalid, std::string(what) + " is negative or above a year"};
  }
  return ok();
}

}  // namespace

Error unknown_error(std::size_t number, const Dependency& item) {
  return {ErrorCode::kNotFound,
          "--after: item " + std::to_string(number) + " `" + text_of(item) + "`: there is no job " +
              text_of(item.job) +
              ", or it ended long ago and is forgotten: see `muster jobs --all`"};
}

Result<JobWait> wait_of(const Books& books, const Eligibility& asked, std::int64_t unix_ms) {
  JobWait wait;
  for (const Dependency& item : asked.after) {
    const Target target = target_of(books, item.job);
    if (!target.is_known) {
      return unknown_error(wait.after.size() + 1, item);
    }
    const bool is_met = standing_of(item.ending, target) == Standing::kMet;
    wait.after.push_back({item, is_met});
  }
  if (asked.begin != Duration::zero()) {
    wait.begin_at = books.cluster_time + asked.begin;
    wait.begin_unix_ms = unix_ms == 0 ? 0 : unix_ms + to_ms(asked.begin);
  }
  if (asked.deadline != Duration::zero()) {
    wait.deadline_at = books.cluster_time + asked.deadline;
    wait.deadline_unix_ms = unix_ms == 0 ? 0 : unix_ms + to_ms(asked.deadline);
  }
  return wait;
}

Result<JobWait> edited_wait(const Books& books, JobWait wait, const entry::Edit& fact,
                            std::int64_t unix_ms) {
  const auto change = [&](const std::optional<Duration>& wish, Duration& at, std::int64_t& wall) {
    if (wish.has_value()) {
      const bool is_none = *wish == Duration::zero();
      at = is_none ? Duration::zero() : books.cluster_time + *wish;
      wall = is_none || unix_ms == 0 ? 0 : unix_ms + to_ms(*wish);
    }
  };
  for (const auto& [wish, what] :
       {std::pair(fact.begin, "the begin"), std::pair(fact.deadline, "the deadline")}) {
    if (const Status fits = check_span(wish.value_or(Duration::zero()), what); !fits) {
      return fits.error();
    }
  }
  change(fact.begin, wait.begin_at, wait.begin_unix_ms);
  change(fact.deadline, wait.deadline_at, wait.deadline_unix_ms);
  if (wait.deadline_at != Duration::zero() && wait.deadline_at <= wait.begin_at) {
    return Error{ErrorCode::kInvalid,
                 "its deadline would not be after its begin: the job could never start"};
  }
  return wait;
}

void set_wait(Step& step, JobId id, JobWait wait) {
  Books& books = step.books;
  Job* const job = books.jobs.find(id);
  TaskArray* const array = job == nullptr ? books.arrays.find(id) : nullptr;
  CHECK(job != nullptr || array != nullptr);
  const bool was_open = job != nullptr ? job->life.wait.is_open() : array->wait.is_open();
  if (was_open && !wait.is_open()) {
    wait.over_at = books.cluster_time;
  }
  books.eligibility.remove(id, *find_wait(books, id));
  books.eligibility.add(id, wait);
  const bool is_moved = was_open != wait.is_open();
  if (job != nullptr) {
    books.jobs.set_wait(*job, std::move(wait));
  } else {
    array->wait = std::move(wait);
  }
  if (is_moved && job != nullptr) {
    step.result.jobs_moved.push_back(id);
    step.result.capacity_changed = true;
  } else if (is_moved) {
    step.arrays_moved.push_back(id);
  }
}

std::string never_of(const Books& books, const JobWait& wait) {
  for (const JobWait::Item& each : wait.after) {
    const Target target = target_of(books, each.asked.job);
    if (!each.is_met && standing_of(each.asked.ending, target) == Standing::kNever) {
      return never_text(each.asked, target);
    }
  }
  return "";
}

void begin_wait(Step& step, JobId id) {
  if (std::string never = never_of(step.books, *find_wait(step.books, id)); !never.empty()) {
    give_up(step, id, std::move(never));
  }
}

void end_wait(Step& step, Job& job) {
  if (!job.life.wait.is_open()) {
    return;
  }
  JobWait wait = job.life.wait;
  wait.begin_at = Duration::zero();
  for (JobWait::Item& each : wait.after) {
    each.is_met = true;
  }
  set_wait(step, job.id, std::move(wait));
}

void end_deadline(Step& step, const Job& job) {
  const auto forget = [&step](JobId id) {
    const JobWait* before = find_wait(step.books, id);
    if (before != nullptr && before->deadline_at != Duration::zero()) {
      JobWait wait = *before;
      wait.deadline_at = Duration::zero();
      set_wait(step, id, std::move(wait));
    }
  };
  forget(job.id);
  if (is_task(job.id)) {
    forget(array_of(job.id));
  }
}

void settle_waits(Step& step) {
  note_ends(step);
  for (std::size_t settled = 0; settled < kSettledMax;) {
    std::size_t now = 0;
    if (const auto told = step.books.eligibility.next_told()) {
      tell(step, told->first, told->second);
      now = 1;
    } else {
      now = settle_times(step, kSettledMax - settled);
    }
    note_ends(step);
    settled += now;
    if (now == 0) {
      return;
    }
  }
}

std::string condition_text(const Dependency& item) {
  switch (item.ending) {
    case Ending::kOk:
      return text_of(item.job) + " succeeded";
    case Ending::kFail:
      return text_of(item.job) + " failed";
    case Ending::kAny:
      break;
  }
  return text_of(item.job) + " ended";
}

std::string standing_text(const Books& books, JobId id) {
  if (const Job* job = books.jobs.find(id)) {
    return std::string(text_of(job->life.state));
  }
  const TaskArray* array = is_task(id) ? nullptr : books.arrays.find(id);
  if (array != nullptr) {
    return std::string(text_of(array->state()));
  }
  return target_of(books, id).is_known ? "waits for its turn" : "unknown";
}

}  // namespace muster::scheduler
