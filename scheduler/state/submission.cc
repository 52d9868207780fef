#include "scheduler/state/submission.h"

#include <map>
#include <optional>
#include <utility>

#include "gossip/base/name.h"
#include "scheduler/protocol/codec.h"
#include "scheduler/state/eligibility_rules.h"
#include "scheduler/state/job_moves.h"
#include "scheduler/state/orders.h"
#include "scheduler/state/queue_rules.h"
#include "scheduler/state/unfolding.h"

namespace muster::scheduler {
namespace {

/// Number of GPUs of the fleet, by folded type.
std::map<std::string, std::uint64_t> gpus_of(const HostBook& hosts) {
  std::map<std::string, std::uint64_t> gpus;
  for (const auto& [id, host] : hosts.all()) {
    const bool is_gone = host.verdict == Verdict::kLeft || host.is_removed;
    const std::string type = is_gone || host.gpus.empty() ? "" : folded(host.gpu_type);
    if (!type.empty() && (gpus.size() < kPopularTypesMax || gpus.contains(type))) {
      gpus[type] += host.gpus.size();
    }
  }
  return gpus;
}

bool is_of_another_user(const Books& books, JobId id, const Subject& by) {
  const Job* job = books.jobs.find(id);
  const TaskArray* array = books.arrays.find(id);
  const JobSpec* spec = job != nullptr ? &job->spec : array != nullptr ? &array->spec : nullptr;
  return spec != nullptr && !by.user.empty() && spec->user != by.user;
}

/// Counts the submit among the usual requests.
void note_asked(Step& step, const JobSpec& spec) {
  Popularity& popularity = step.books.popularity;
  popularity.note(spec.request, spec.array.has_value() ? spec.array->length() : 1);
  if (popularity.is_due()) {
    popularity.look(gpus_of(step.books.hosts));
    step.result.usual_changed = true;
  }
}

}  // namespace

Status validate(const JobSpec& spec) {
  std::size_t command_bytes = 0;
  for (const std::string& text : spec.command.argv) {
    command_bytes += text.size();
  }
  for (const std::string& text : spec.command.environment) {
    command_bytes += text.size();
  }
  const auto invalid = [](std::string text) { return Error{ErrorCode::kInvalid, std::move(text)}; };
  if (Status request = validate(spec.request); !request) {
    return request;
  }
  if (spec.command.argv.empty()) {
    return invalid("no command");
  }
  // Each task of an array gets two more variables.
  const std::size_t more = spec.array.has_value() ? kTaskVariables : 0;
  if (command_bytes + more * kTaskVariableBytes > kCommandBytesMax ||
      spec.command.argv.size() > kTextsMax || spec.command.environment.size() + more > kTextsMax) {
    return invalid("command and environment exceed " + std::to_string(kCommandBytesMax) + " bytes");
  }
  if (spec.name.size() > kTextBytesMax || spec.user.size() > kTextBytesMax ||
      spec.command.directory.size() > kDirectoryBytesMax) {
    return invalid("name, user or directory is too long");
  }
  if (Status name = check_line_name(spec.name, "job"); !name) {
    return name;
  }
  if (Status user = check_line_name(spec.user, "user"); !user) {
    return user;
  }
  if (!spec.team.empty()) {
    if (Status team = check_word_name(spec.team, "team"); !team) {
      return team;
    }
  }
  if (spec.array.has_value() && spec.is_held) {
    return invalid("an array cannot be held: submit it without --hold and suspend its tasks");
  }
  if (spec.array.has_value()) {
    if (Status range = validate(*spec.array); !range) {
      return range;
    }
  }
  if (!spec.queue.empty()) {
    if (Status queue = check_queue_path(spec.queue); !queue) {
      return queue;
    }
  }
  const bool is_unlimited = spec.limits.time_limit == kNoTimeLimit;
  for (const Duration span : {spec.limits.hold, spec.limits.grace, spec.limits.patience,
                              is_unlimited ? Duration::zero() : spec.limits.time_limit}) {
    if (span < Duration::zero() || span > kSpanMax) {
      return invalid("a time is negative or above a year");
    }
  }
  return validate(spec.eligibility);
}

std::string why_not(const Books& books, const entry::Submit& fact) {
  if (books.jobs.waiting() >= kJobsQueuedMax) {
    return "the queue is full: " + std::to_string(kJobsQueuedMax) + " jobs wait";
  }
  if (fact.spec.array.has_value() && books.arrays.unended() >= kArraysMax) {
    return "there are " + std::to_string(kArraysMax) + " arrays that have not ended";
  }
  if (!books.sizes.has_room_for_job(kept_bytes_of_job(fact.spec, fact.key, fact.by.name))) {
    return "the commands of all jobs that have not ended take " +
           std::to_string(books.sizes.max().unfinished_jobs >> 20) +
           " MiB: wait until some end, or put what is long into a file";
  }
  return "";
}

void on_submit(Step& step, entry::Submit& fact) {
  if (const std::optional<JobId> known = step.books.keys.find(fact.key)) {
    if (is_of_another_user(step.books, *known, fact.by)) {
      step.reject(ErrorCode::kConflict,
                  "another user submitted a job under that key: use another key");
      return;
    }
    step.result.job = *known;
    return;
  }
  const Status valid = validate(fact.spec);
  if (!valid || fact.key.empty() || fact.key.size() > kClientKeyBytesMax) {
    step.reject(ErrorCode::kInvalid, valid ? "client key" : valid.error().text);
    return;
  }
  if (const Status settled = settle_queue(step.books, fact.spec); !settled) {
    step.reject(settled.error().code, settled.error().text);
    return;
  }
  Result<JobWait> wait = wait_of(step.books, fact.spec.eligibility, step.unix_ms);
  if (!wait) {
    step.reject(wait.error().code, wait.error().text);
    return;
  }
  fact.spec.eligibility = {};
  if (std::string full = why_not(step.books, fact); !full.empty()) {
    step.reject(ErrorCode::kUnavailable, std::move(full));
    return;
  }
  if (fact.spec.team.empty() && step.books.directory.is_founded()) {
    fact.spec.team = step.books.directory.first_team(fact.spec.user);
  }
  note_asked(step, fact.spec);
  if (fact.spec.array.has_value()) {
    add_array(step, fact, *std::move(wait));
    begin_wait(step, step.result.job);
    return;
  }
  Job job;
  job.id = step.books.jobs.give_number();
  job.spec = std::move(fact.spec);
  job.key = fact.key;
  job.submitted_by = fact.by.name;
  job.life.wait = *std::move(wait);
  const JobId id = job.id;
  const bool is_held = job.spec.is_held;
  add_job(step, std::move(job), "submitted");
  step.result.job = id;
  step.result.capacity_changed = true;
  begin_wait(step, id);
  if (is_held && !step.books.jobs.at(id).has_ended()) {
    // As if the next entry were a Suspend: nothing is placed in between.
    on_suspend(step, entry::Suspend{id, fact.by});
  }
}

}  // namespace muster::scheduler
