#include "scheduler/state/orders.h"

#include <string>
#include <vector>

#include "gossip/base/check.h"
#include "scheduler/protocol/mutants.h"
#include "scheduler/state/job_moves.h"
#include "scheduler/state/outcomes.h"

namespace muster::scheduler {
namespace {

JobOrder order_of(JobEvent word) {
  return word == JobEvent::kSuspend ? JobOrder::kSuspend : JobOrder::kRequeue;
}

/// At once: the job has no attempt.
void obey(Step& step, Job& job, JobEvent word, const std::string& by) {
  CHECK(job.current.is_none() || is_mutant_planted());
  // Its last attempt, if there was one: what it left behind is what the next one follows.
  const Token last = job.attempt_tokens.empty() ? Token() : job.attempt_tokens.back();
  if (word == JobEvent::kCancel) {
    job.cancel_requested = true;
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

/// Until its attempt is over, which the leader sees to.
void keep_order(Step& step, Job& job, JobEvent word, const std::string& by) {
  if (job.current.is_none()) {
    CHECK(is_mutant_planted());
    return;
  }
  step.books.jobs.count(job, word);
  if (word == JobEvent::kCancel) {
    job.cancel_requested = true;
    job.ordered_by = by;
  } else if (word != JobEvent::kResume) {
    job.order = order_of(word);
    job.ordered_by = by;
  } else if (job.order == JobOrder::kSuspend) {
    job.forget_order();
  }
  step.result.events.push_back({Severity::kInfo,
                                "job_ordered",
                                {{"job", std::to_string(job.id.value())},
                                 {"token", job.current.text()},
                                 {"order", std::string(text_of(word))},
                                 {"by", by},
                                 {"index", std::to_string(step.index.value())}}});
  step.result.touched.push_back(job.current);
  // What the job waits for may be over already but for silent hosts.
  settle(step, step.books.attempts.at(job.current));
}

void hear(Step& step, JobId id, JobEvent word, const std::string& by) {
  Job* const found = step.books.jobs.find(id);
  if (found == nullptr) {
    step.reject(ErrorCode::kNotFound, "there is no job " + std::to_string(id.value()));
    return;
  }
  Job& job = *found;
  step.result.job = id;
  switch (job_step(job.state, job.order_in_force(), word).rule) {
    case JobRule::kMove:
      obey(step, job, word, by);
      return;
    case JobRule::kOrder:
    case JobRule::kWithdraw:
      keep_order(step, job, word, by);
      return;
    case JobRule::kDone:
      step.books.jobs.count(job, word);
      return;
    case JobRule::kRefused:
      step.books.jobs.count(job, word);
      step.reject(ErrorCode::kConflict, refusal_text(id, job.state, job.order_in_force(), word));
      return;
    case JobRule::kNever:
      CHECK(false);
  }
}

}  // namespace

void on_cancel(Step& step, const entry::Cancel& fact) {
  hear(step, fact.job, JobEvent::kCancel, fact.by);
}

void on_suspend(Step& step, const entry::Suspend& fact) {
  hear(step, fact.job, JobEvent::kSuspend, fact.by);
}

void on_resume(Step& step, const entry::Resume& fact) {
  hear(step, fact.job, JobEvent::kResume, fact.by);
}

void on_requeue(Step& step, const entry::Requeue& fact) {
  const Job* known = step.books.jobs.find(fact.job);
  if (known != nullptr && !known->has_ended() && fact.attempt != 0 &&
      known->attempts > fact.attempt) {
    step.result.job = fact.job;  // Said again: the attempt it was about has made way.
    return;
  }
  hear(step, fact.job, JobEvent::kRequeue, fact.by);
}

void on_edit(Step& step, const entry::Edit& fact) {
  Job* const job = step.books.jobs.find(fact.job);
  if (job == nullptr) {
    step.reject(ErrorCode::kNotFound, "there is no job " + std::to_string(fact.job.value()));
    return;
  }
  step.result.job = fact.job;
  if (job->state != JobState::kQueued && job->state != JobState::kSuspended) {
    step.reject(ErrorCode::kConflict, "job " + std::to_string(fact.job.value()) + " is " +
                                          std::string(text_of(job->state)) +
                                          ": a priority is for jobs that wait");
    return;
  }
  step.books.jobs.set_priority(*job, fact.priority);
  step.result.jobs_moved.push_back(job->id);
  step.result.capacity_changed = true;
  step.result.events.push_back({Severity::kInfo,
                                "job_priority",
                                {{"job", std::to_string(fact.job.value())},
                                 {"priority", std::to_string(fact.priority)},
                                 {"by", fact.by},
                                 {"index", std::to_string(step.index.value())}}});
}

}  // namespace muster::scheduler
