#include "scheduler/state/job_moves.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "gossip/base/check.h"
#include "scheduler/state/eligibility_rules.h"
#include "scheduler/state/forgetting.h"

namespace muster::scheduler {
namespace {

std::string_view name_of_move(JobState to) {
  switch (to) {
    case JobState::kQueued:
      return "job_queued";
    case JobState::kScheduled:
      return "job_scheduled";
    case JobState::kRunning:
      return "job_started";
    case JobState::kStopping:
      return "job_stopping";
    case JobState::kSuspended:
      return "job_suspended";
    case JobState::kCompleted:
    case JobState::kFailed:
    case JobState::kCancelled:
      return "job_ended";
  }
  return "";
}

Event told_of(const Step& step, const Job& job, std::string cause, const Token& token) {
  Event said{Severity::kInfo, name_of_move(job.life.state), {{"job", text_of(job.id)}}};
  if (!token.is_none()) {
    said.fields.emplace_back("token", token.text());
  }
  said.fields.emplace_back("cause", std::move(cause));
  if (job.has_ended()) {
    said.fields.emplace_back("state", std::string(text_of(job.life.state)));
    said.fields.emplace_back("code", std::to_string(job.life.exit_code));
  }
  if (job.pauses()) {
    said.fields.emplace_back(
        "pause_ms", std::to_string(to_ms(job.life.failures.retry_at - step.books.cluster_time)));
  }
  said.fields.emplace_back("index", std::to_string(step.index.value()));
  return said;
}

}  // namespace

void move_job(Step& step, Job& job, JobEvent event, std::string cause, const Token& token) {
  Books& books = step.books;
  const JobState from = job.life.state;
  books.jobs.move(job, event);
  books.waiting.on_moved(job, from);
  step.result.jobs_moved.push_back(job.id);
  if (is_task(job.id)) {
    books.arrays.on_moved(job.id, from, job.life.state, event == JobEvent::kSubmitted);
    step.arrays_moved.push_back(array_of(job.id));
  }
  if (event == JobEvent::kStarted) {
    end_deadline(step, job);
  }
  job.life.reason = cause;
  books.sizes.note(
      job, Transition{job.life.state, cause, books.cluster_time, step.index, token, step.unix_ms});
  step.result.events.push_back(told_of(step, job, std::move(cause), token));
}

Job& add_job(Step& step, Job job, std::string cause) {
  job.history.submitted_at = step.books.cluster_time;
  job.history.submitted_unix_ms = step.unix_ms;
  job.orders.priority = job.spec.priority;
  Job& placed = step.books.jobs.add(std::move(job));
  step.books.waiting.add(placed);
  step.books.eligibility.add(placed.id, placed.life.wait);
  keep_submitted(step, placed);
  move_job(step, placed, JobEvent::kSubmitted, std::move(cause), Token());
  return placed;
}

void end_job(Step& step, Job& job, JobEvent how, std::int32_t code, std::string reason) {
  CHECK(!job.has_ended());
  const Token last = job.life.current;
  job.life.current = Token();
  job.forget_order();
  job.life.left_out.clear();
  job.life.exit_code = code;
  job.history.ended_at = step.books.cluster_time;
  job.life.ended_index = step.index;
  job.history.ended_unix_ms = step.unix_ms;
  step.result.capacity_changed = true;
  step.books.eligibility.remove(job.id, job.life.wait);
  move_job(step, job, how, std::move(reason), last);
  step.ended.emplace_back(job.id, job.life.state);
  keep_ended(step.books, job);
}

void relax_packs(Step& step) {
  Books& books = step.books;
  for (const JobId id : books.jobs.relax_until(books.cluster_time)) {
    Job& job = books.jobs.at(id);
    const std::string pack(text_of(job.spec.request.pack));
    step.result.jobs_moved.push_back(id);
    step.result.capacity_changed = true;
    job.life.reason = "pack " + pack + " relaxed";
    books.sizes.note(job, Transition{job.life.state, job.life.reason, books.cluster_time,
                                     step.index, Token(), step.unix_ms});
    step.result.events.push_back(
        {Severity::kInfo,
         "job_pack_relaxed",
         {{"job", text_of(id)}, {"pack", pack}, {"index", std::to_string(step.index.value())}}});
  }
}

void queue_again(Step& step, Job& job, const Token& token, std::string cause) {
  job.life.current = Token();
  job.forget_order();
  step.result.capacity_changed = true;
  move_job(step, job, JobEvent::kQueuedAgain, std::move(cause), token);
}

Duration pause_after(std::uint32_t failures) {
  Duration pause = kFirstPause;
  for (std::uint32_t i = 1; i < failures && pause < kLongestPause; ++i) {
    pause *= 2;
  }
  return std::min(pause, kLongestPause);
}

void queue_after_pause(Step& step, Job& job, const Token& token, std::string cause,
                       std::uint32_t failures) {
  const Duration pause = pause_after(failures);
  step.books.jobs.pause_until(job, step.books.cluster_time + pause);
  queue_again(step, job, token, std::move(cause));
}

void end_pauses(Step& step) {
  for (const JobId id : step.books.jobs.end_pauses(step.books.cluster_time)) {
    step.result.jobs_moved.push_back(id);
    step.result.capacity_changed = true;
  }
}

}  // namespace muster::scheduler
