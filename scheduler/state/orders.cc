#include "scheduler/state/orders.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gossip/base/check.h"
#include "scheduler/access/authorize.h"
#include "scheduler/protocol/codec.h"
#include "scheduler/protocol/mutants.h"
#include "scheduler/state/eligibility_rules.h"
#include "scheduler/state/job_moves.h"
#include "scheduler/state/kept_bytes.h"
#include "scheduler/state/outcomes.h"
#include "scheduler/state/queue_rules.h"
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

/// The part of a specification that an edit changes, beside the priority.
struct Terms {
  std::string queue;
  Tier tier = Tier::kNone;
  Duration time_limit{0};  ///< 0 = none.
  bool operator==(const Terms&) const = default;
};

Terms terms_of(const JobSpec& spec) {
  return {spec.queue, spec.tier, spec.limits.time_limit};
}

bool waits(const Job& job) {
  return job.life.state == JobState::kQueued || job.life.state == JobState::kSuspended;
}

Error wrong_edit(std::string text) {
  return {ErrorCode::kInvalid, std::move(text)};
}

/// "1h 30m"
std::string ran_text(Duration span) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(span).count();
  std::string text;
  for (const auto& [length, unit] : {std::pair{3600, "h"}, {60, "m"}, {1, "s"}}) {
    const std::int64_t count = length == 3600 ? seconds / length : seconds / length % 60;
    text += count == 0 ? "" : (text.empty() ? "" : " ") + std::to_string(count) + unit;
  }
  return text.empty() ? "less than a second" : text;
}

/// A member of the queue; "" if nobody is.
std::string member_of(const Books& books, QueueNumber queue) {
  for (const std::string& member : books.queues.members(queue)) {
    if (!member.starts_with('@')) {
      return member;
    }
    const std::string_view team = std::string_view(member).substr(1);
    for (const auto& [name, user] : books.directory.users()) {
      if (std::find(user.teams.begin(), user.teams.end(), team) != user.teams.end()) {
        return name;
      }
    }
  }
  return "";
}

/// settle_queue() for a job that is there. An operator puts it also where its user is no member.
Status settle_again(const Books& books, JobSpec& spec, const Subject& by) {
  Status settled = settle_queue(books, spec);
  const bool is_denied = !settled.has_value() && settled.error().code == ErrorCode::kDenied;
  if (!is_denied || !by.token.is_zero() ||
      !why_denied(books.directory, by.user, Right::kMayOperate, AccessObject()).empty()) {
    return settled;
  }
  std::string member = member_of(books, books.queues.number_of(spec.queue));
  if (member.empty()) {
    return settled;
  }
  std::swap(spec.user, member);
  settled = settle_queue(books, spec);
  std::swap(spec.user, member);
  return settled;
}

/// As a Submit would say it: kNoTimeLimit = none.
Result<Duration> limit_asked(const JobSpec& spec, const entry::Edit& fact) {
  const Duration now = spec.limits.time_limit;
  if (!fact.time_limit.has_value()) {
    return now == Duration::zero() ? kNoTimeLimit : now;
  }
  const Duration asked = *fact.time_limit;
  if (asked <= Duration::zero()) {
    return wrong_edit("a time limit has to be above 0");
  }
  if (fact.adds_time && now == Duration::zero()) {
    return wrong_edit("there is no time limit to add to");
  }
  const Duration most = fact.adds_time ? kSpanMax - now : kSpanMax;
  if (asked > most && (fact.adds_time || asked != kNoTimeLimit)) {
    return wrong_edit("a time limit is at most a year");
  }
  return fact.adds_time ? now + asked : asked;
}

/// The tier that the job asks for in that queue: kNone = the first one of the queue.
Tier tier_asked(const QueueBook& queues, const std::string& queue, const JobSpec& spec,
                const entry::Edit& fact) {
  const auto number = queues.find(queue);
  if (fact.tier != Tier::kNone || !number.has_value()) {
    return fact.tier;
  }
  const std::vector<Tier> tiers = queues.tiers(*number);
  const bool is_there = std::find(tiers.begin(), tiers.end(), spec.tier) != tiers.end();
  return is_there ? spec.tier : Tier::kNone;
}

bool changes_queue(const JobSpec& spec, const entry::Edit& fact) {
  return !fact.queue.empty() && fact.queue != spec.queue;
}
bool changes_tier(const JobSpec& spec, const entry::Edit& fact) {
  return fact.tier != Tier::kNone && fact.tier != spec.tier;
}

Result<Terms> edited_terms(const Books& books, const JobSpec& spec, const entry::Edit& fact) {
  const Result<Duration> asked = limit_asked(spec, fact);
  if (!asked) {
    return asked.error();
  }
  if (changes_queue(spec, fact) || changes_tier(spec, fact)) {
    JobSpec placed;  // Without the command, which may be long.
    placed.user = spec.user;
    placed.request = spec.request;
    placed.queue = fact.queue.empty() ? spec.queue : fact.queue;
    placed.tier = tier_asked(books.queues, placed.queue, spec, fact);
    placed.limits.time_limit = *asked;
    const Status settled = settle_again(books, placed, fact.by);
    return settled ? Result<Terms>(terms_of(placed)) : settled.error();
  }
  Terms terms = terms_of(spec);
  if (fact.time_limit.has_value()) {
    // Another limit is no new place: it asks for no member, and not whether the job could start.
    const Result<Duration> limit =
        limit_in(books.queues, books.queues.number_of(spec.queue), spec.tier, *asked);
    if (!limit) {
      return limit.error();
    }
    terms.time_limit = *limit;
  }
  return terms;
}

/// The changes that a job with an attempt cannot hear, in words; "" without any.
std::string bound_text(const Job& job, const entry::Edit& fact) {
  std::string text;
  const auto add = [&text](bool is_changed, std::string_view what) {
    text += is_changed ? (text.empty() ? "" : " and ") + std::string(what) : "";
  };
  add(!fact.keeps_priority && fact.priority != job.orders.priority, "priority");
  add(changes_queue(job.spec, fact), "queue");
  add(changes_tier(job.spec, fact), "tier");
  return text;
}

/// kConflict and kInvalid name the job.
Result<Terms> edited_terms(const Books& books, const Job& job, const entry::Edit& fact) {
  const std::string name = "job " + text_of(job.id);
  const std::string state(text_of(job.life.state));
  if (job.has_ended()) {
    return Error{ErrorCode::kConflict, name + " has " + state + ": nothing of it can change"};
  }
  const std::string bound = waits(job) ? "" : bound_text(job, fact);
  if (!bound.empty()) {
    return Error{ErrorCode::kConflict, name + " is " + state + ": its " + bound +
                                           " cannot change before it waits again, its time limit "
                                           "can"};
  }
  const Result<Terms> terms = edited_terms(books, job.spec, fact);
  if (!terms) {
    return Error{terms.error().code, name + ": " + terms.error().text};
  }
  const Attempt* attempt = books.attempts.find(job.life.current);
  const bool runs = attempt != nullptr && attempt->state == AttemptState::kStarted;
  const Duration ran = runs ? books.cluster_time - attempt->started_at : Duration::zero();
  const bool has_limit = terms->time_limit != Duration::zero();
  if (fact.time_limit.has_value() && has_limit && runs && terms->time_limit <= ran) {
    return wrong_edit(name + " has run for " + ran_text(ran) +
                      " already: a time limit has to be above that");
  }
  return terms;
}

/// `bytes` counts what they take with the record that has them.
template <class Bytes>
void set_terms(Step& step, JobSpec& spec, Terms terms, Bytes bytes) {
  step.books.sizes.remove_unfinished(bytes());
  spec.queue = std::move(terms.queue);
  spec.tier = terms.tier;
  spec.limits.time_limit = terms.time_limit;
  step.books.sizes.add_unfinished(bytes());
}

void tell_edited(Step& step, JobId id, const Terms& before, const Terms& after, const Subject& by) {
  if (before == after) {
    return;
  }
  Event said{Severity::kInfo, "job_edited", {{"job", text_of(id)}}};
  if (after.queue != before.queue) {
    said.fields.emplace_back("queue", after.queue);
  }
  if (after.tier != before.tier) {
    said.fields.emplace_back("tier", std::string(text_of(after.tier)));
  }
  if (after.time_limit != before.time_limit) {
    said.fields.emplace_back("time_limit_ms", std::to_string(to_ms(after.time_limit)));
  }
  said.fields.emplace_back("by", by.name);
  said.fields.emplace_back("index", std::to_string(step.index.value()));
  step.result.events.push_back(std::move(said));
}

void edit_job(Step& step, Job& job, const entry::Edit& fact, Terms terms) {
  if (terms.queue != job.spec.queue || terms.tier != job.spec.tier) {
    step.result.jobs_moved.push_back(job.id);
    step.result.capacity_changed = true;
  }
  const std::string from = job.spec.queue;
  set_terms(step, job.spec, std::move(terms), [&job] { return kept_bytes(job); });
  step.books.waiting.on_queue_changed(job, from);
  if (waits(job) && !fact.keeps_priority) {
    set_priority(step, job, fact);
  }
}

/// The part of a word about all tasks that is about this one.
entry::Edit part_for(const Job& task, const entry::Edit& fact) {
  entry::Edit part = fact;
  if (!waits(task)) {
    part.keeps_priority = true;
    part.queue.clear();
    part.tier = Tier::kNone;
  }
  if (part.adds_time && task.spec.limits.time_limit == Duration::zero()) {
    part.time_limit.reset();  // A word about this one has taken its limit away.
  }
  return part;
}

/// Changes the begin and the deadline of a job or array. False if the entry is rejected.
bool edit_times(Step& step, JobId id, bool was_tried, const JobWait& before,
                const entry::Edit& fact) {
  if (!fact.changes_times()) {
    return true;
  }
  const std::string name = "job " + text_of(id);
  if (is_task(id)) {
    step.reject(ErrorCode::kConflict,
                name + " begins with its array: edit job " + text_of(array_of(id)));
    return false;
  }
  if (was_tried) {
    step.reject(ErrorCode::kConflict,
                name + " is no longer before its first attempt, as its begin and deadline are");
    return false;
  }
  Result<JobWait> wait = edited_wait(step.books, before, fact, step.unix_ms);
  if (!wait) {
    step.reject(wait.error().code, name + ": " + wait.error().text);
    return false;
  }
  Event said{Severity::kInfo, "job_edited", {{"job", text_of(id)}}};
  if (fact.begin.has_value()) {
    said.fields.emplace_back("begin_in_ms", std::to_string(to_ms(*fact.begin)));
  }
  if (fact.deadline.has_value()) {
    said.fields.emplace_back("deadline_in_ms", std::to_string(to_ms(*fact.deadline)));
  }
  said.fields.emplace_back("by", fact.by.name);
  said.fields.emplace_back("index", std::to_string(step.index.value()));
  step.result.events.push_back(std::move(said));
  set_wait(step, id, *std::move(wait));
  return true;
}

/// The tasks that are to come, those that wait, and the time limit of those that run.
void edit_array(Step& step, TaskArray& array, const entry::Edit& fact) {
  const Result<Terms> whole = edited_terms(step.books, array.spec, fact);
  if (!whole) {
    step.reject(whole.error().code, "job " + text_of(array.id) + ": " + whole.error().text);
    return;
  }
  std::vector<std::pair<JobId, Terms>> tasks;
  for (const JobId id : tasks_of(step.books, array)) {
    const Job& task = step.books.jobs.at(id);
    Result<Terms> terms = edited_terms(step.books, task, part_for(task, fact));
    if (!terms) {
      step.reject(terms.error().code, terms.error().text);
      return;
    }
    tasks.emplace_back(id, *std::move(terms));
  }
  const bool is_in_queue = array.active + array.completed + array.failed != 0;
  if (fact.begin.has_value() && is_in_queue) {
    step.reject(
        ErrorCode::kConflict,
        "job " + text_of(array.id) + ": tasks of it are in the queue: its begin cannot change");
    return;
  }
  const bool was_tried = array.completed + array.failed != 0 ||
                         std::any_of(tasks.begin(), tasks.end(), [&step](const auto& task) {
                           return step.books.jobs.at(task.first).life.attempts != 0;
                         });
  if (!edit_times(step, array.id, was_tried, array.wait, fact)) {
    return;
  }
  tell_edited(step, array.id, terms_of(array.spec), *whole, fact.by);
  set_terms(step, array.spec, *whole,
            [&array] { return kept_bytes_of_job(array.spec, array.key, array.submitted_by); });
  step.books.waiting.recount(array);
  array.priority = fact.keeps_priority ? array.priority : fact.priority;
  for (auto& [id, terms] : tasks) {
    edit_job(step, step.books.jobs.at(id), fact, std::move(terms));
  }
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
  if (fact.keeps_priority && fact.queue.empty() && fact.tier == Tier::kNone &&
      !fact.time_limit.has_value() && !fact.changes_times()) {
    step.reject(ErrorCode::kInvalid, "an edit says at least one thing that changes");
    return;
  }
  TaskArray* const array = is_task(fact.job) ? nullptr : step.books.arrays.find(fact.job);
  Job* const job = step.books.jobs.find(fact.job);
  if (array != nullptr && !array->has_ended()) {
    step.result.job = fact.job;
    edit_array(step, *array, fact);
    return;
  }
  if (job == nullptr) {
    refuse_unknown(step, fact.job);
    return;
  }
  step.result.job = fact.job;
  Result<Terms> terms = edited_terms(step.books, *job, fact);
  if (!terms) {
    step.reject(terms.error().code, terms.error().text);
    return;
  }
  if (!edit_times(step, job->id, job->life.attempts != 0, job->life.wait, fact)) {
    return;
  }
  tell_edited(step, job->id, terms_of(job->spec), *terms, fact.by);
  edit_job(step, *job, fact, *std::move(terms));
}

}  // namespace muster::scheduler
