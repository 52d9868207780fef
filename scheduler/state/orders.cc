#include "scheduler/state/orders.h"

#include <algorithm>
#include <string>
#include <vector>

#include "gossip/base/check.h"
#include "scheduler/protocol/mutants.h"
#include "scheduler/state/job_moves.h"
#include "scheduler/state/outcomes.h"
#include "scheduler/state/unfolding.h"

namespace muster::scheduler {
namespace {

JobOrder order_of(JobEvent word) {
  return word == JobEvent::kSuspend ? JobOrder::kSuspend : JobOrder::kRequeue;
}

/// Carries out the order at once. Precondition: the job has no attempt.
void obey(Step& step, Job& job, JobEvent word, const std::string& by) {
  CHECK(job.life.current.is_none() || is_mutant_planted());
  // The move names the job's last attempt, if there was one.
  const Token last = job.life.attempt_tokens.empty() ? Token() : job.life.attempt_tokens.back();
  if (word == JobEvent::kCancel) {
    job.orders.cancel_requested = true;
    end_job(step, job, word, kExitCancelled, "cancelled by " + by);
    return;
  }
  step.result.capacity_changed = true;
  if (word == JobEvent::kSuspend) {
    move_job(step, job, word, "suspended by " + by, last);
    return;
  }
  move_job(step, job, word, (word == JobEvent::kResume ? "resumed by " : "requeued by ") + by,
           last);
}

/// Keeps the order until the attempt is over: the leader aborts or stops it.
void keep_order(Step& step, Job& job, JobEvent word, const std::string& by) {
  if (job.life.current.is_none()) {
    CHECK(is_mutant_planted());
    return;
  }
  step.books.jobs.count(job, word);
  if (word == JobEvent::kCancel) {
    job.orders.cancel_requested = true;
    job.orders.ordered_by = by;
  } else if (word != JobEvent::kResume) {
    job.orders.order = order_of(word);
    job.orders.ordered_by = by;
  } else if (job.orders.order == JobOrder::kSuspend) {
    job.forget_order();
  }
  step.result.events.push_back({Severity::kInfo,
                                "job_ordered",
                                {{"job", text_of(job.id)},
                                 {"token", job.life.current.text()},
                                 {"order", std::string(text_of(word))},
                                 {"by", by},
                                 {"index", std::to_string(step.index.value())}}});
  step.result.touched.push_back(job.life.current);
  // The attempt may be over already except on silent hosts: then the job goes on now.
  settle(step, step.books.attempts.at(job.life.current));
}

/// Ends the pause of a job that a person wants to run now.
void try_now(Step& step, Job& job, const std::string& by) {
  if (!job.pauses()) {
    return;
  }
  step.books.jobs.end_pause(job);
  step.result.jobs_moved.push_back(job.id);
  step.result.capacity_changed = true;
  step.result.events.push_back(
      {Severity::kInfo,
       "job_pause_ended",
       {{"job", text_of(job.id)}, {"by", by}, {"index", std::to_string(step.index.value())}}});
}

/// Rejects the entry: no job has this number.
void refuse_unknown(Step& step, JobId id) {
  const TaskArray* array = step.books.arrays.find(array_of(id));
  const std::string name = text_of(id);
  if (array == nullptr) {
    step.reject(ErrorCode::kNotFound, "there is no job " + name + ": see `muster jobs --all`");
  } else if (!is_task(id) && array->has_ended()) {
    step.reject(ErrorCode::kConflict,
                "job " + name + " has " + std::string(text_of(array->state())));
  } else if (!is_task(id)) {
    step.reject(ErrorCode::kConflict, "job " + name + " is an array: name its tasks, as in " +
                                          name + "." + std::to_string(array->spec.array->first) +
                                          "-" + std::to_string(array->spec.array->last));
  } else if (array->holds(index_of_task(id))) {
    step.reject(ErrorCode::kConflict, "job " + name + " has not begun, or ended long ago");
  } else {
    step.reject(ErrorCode::kNotFound,
                "job " + text_of(array->id) + " has no task " + std::to_string(index_of_task(id)));
  }
}

void hear(Step& step, JobId id, JobEvent word, const std::string& by) {
  Job* const found = step.books.jobs.find(id);
  if (found == nullptr) {
    refuse_unknown(step, id);
    return;
  }
  Job& job = *found;
  step.result.job = id;
  switch (job_step(job.life.state, job.order_in_force(), word).rule) {
    case JobRule::kMove:
      obey(step, job, word, by);
      return;
    case JobRule::kOrder:
    case JobRule::kWithdraw:
      keep_order(step, job, word, by);
      return;
    case JobRule::kDone:
      step.books.jobs.count(job, word);
      try_now(step, job, by);
      return;
    case JobRule::kRefused:
      step.books.jobs.count(job, word);
      step.reject(ErrorCode::kConflict,
                  refusal_text(id, job.life.state, job.order_in_force(), word));
      return;
    case JobRule::kNever:
      CHECK(false);
  }
}

void set_priority(Step& step, Job& job, const entry::Edit& fact) {
  job.orders.priority = fact.priority;
  step.result.jobs_moved.push_back(job.id);
  step.result.capacity_changed = true;
  step.result.events.push_back({Severity::kInfo,
                                "job_priority",
                                {{"job", text_of(job.id)},
                                 {"priority", std::to_string(fact.priority)},
                                 {"by", fact.by.name},
                                 {"index", std::to_string(step.index.value())}}});
}

}  // namespace

void on_cancel(Step& step, const entry::Cancel& fact) {
  TaskArray* const array = step.books.arrays.find(array_of(fact.job));
  const std::uint32_t first = is_task(fact.job) ? index_of_task(fact.job) : 0;
  const std::uint32_t last = is_task(fact.job) ? std::max(first, fact.last) : kTaskIndexMax;
  const bool is_of_one = is_task(fact.job) && first == last;
  if (array == nullptr || (is_of_one && (!array->holds(first) || first < array->next ||
                                         step.books.jobs.find(fact.job) != nullptr))) {
    hear(step, fact.job, JobEvent::kCancel, fact.by.name);
    return;
  }
  step.result.job = fact.job;
  if (array->spec.array->count(first, last) == 0) {
    step.reject(ErrorCode::kNotFound, "job " + text_of(array->id) + " has no such tasks");
    return;
  }
  if (array->has_ended()) {
    if (array->state() != JobState::kCancelled) {
      step.reject(ErrorCode::kConflict, "job " + text_of(array->id) + " has " +
                                            std::string(text_of(array->state())) +
                                            ": nothing to cancel");
    }
    return;
  }
  if (array->skipped.size() >= kSkippedRunsMax && last < array->spec.array->last) {
    step.reject(ErrorCode::kUnavailable,
                "too many runs of tasks of job " + text_of(array->id) +
                    " are cancelled before they began: wait until some of these tasks are due");
    return;
  }
  for (const JobId job : cancel_folded(step, *array, first, last, fact.by.name)) {
    hear(step, job, JobEvent::kCancel, fact.by.name);
  }
}

void on_suspend(Step& step, const entry::Suspend& fact) {
  hear(step, fact.job, JobEvent::kSuspend, fact.by.name);
}

void on_resume(Step& step, const entry::Resume& fact) {
  hear(step, fact.job, JobEvent::kResume, fact.by.name);
}

void on_requeue(Step& step, const entry::Requeue& fact) {
  const Job* known = step.books.jobs.find(fact.job);
  if (known != nullptr && !known->has_ended() && fact.attempt != 0 &&
      known->life.attempts > fact.attempt) {
    step.result.job = fact.job;  // A repetition: the attempt it was about has made way.
    return;
  }
  hear(step, fact.job, JobEvent::kRequeue, fact.by.name);
}

void on_edit(Step& step, const entry::Edit& fact) {
  TaskArray* const array = is_task(fact.job) ? nullptr : step.books.arrays.find(fact.job);
  if (array != nullptr && !array->has_ended()) {
    array->priority = fact.priority;
    step.result.job = fact.job;
    for (const JobId task : tasks_of(step.books, *array)) {
      Job& waits = step.books.jobs.at(task);
      if (waits.life.state == JobState::kQueued || waits.life.state == JobState::kSuspended) {
        set_priority(step, waits, fact);
      }
    }
    return;
  }
  Job* const job = step.books.jobs.find(fact.job);
  if (job == nullptr) {
    refuse_unknown(step, fact.job);
    return;
  }
  step.result.job = fact.job;
  if (job->life.state != JobState::kQueued && job->life.state != JobState::kSuspended) {
    step.reject(ErrorCode::kConflict, "job " + text_of(fact.job) + " is " +
                                          std::string(text_of(job->life.state)) +
                                          ": only the priority of a waiting job can change");
    return;
  }
  set_priority(step, *job, fact);
}

}  // namespace muster::scheduler
