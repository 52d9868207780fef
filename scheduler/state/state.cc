#include "scheduler/state/state.h"

#include <algorithm>

#include "gossip/base/check.h"
#include "scheduler/state/forgetting.h"

namespace muster::scheduler {

ApplyResult State::apply(LogIndex index, const Entry& entry) {
  CHECK(index > books_.applied);
  Step step{index, {}};
  books_.applied = index;
  level_met_ = std::max(level_met_, level_needed(kind_of(entry)));
  std::visit([&](const auto& fact) { on(step, fact); }, entry);
  if (!step.result.rejected.empty()) {
    step.result.events.push_back({Severity::kDebug,
                                  "entry_rejected",
                                  {{"index", std::to_string(index.value())},
                                   {"kind", std::to_string(static_cast<int>(kind_of(entry)))},
                                   {"why", step.result.rejected}}});
  }
  last_outcome_ = outcome_of(step.result);
  return std::move(step.result);
}

void State::skip(LogIndex index) {
  CHECK(index > books_.applied);
  books_.applied = index;
  last_outcome_ = 0;
}

void State::on(Step& step, const entry::Submit& fact) {
  if (const std::optional<JobId> known = job_of_key(fact.key)) {
    step.result.job = *known;
    return;
  }
  const Status valid = validate(fact.spec);
  if (!valid || fact.key.empty() || fact.key.size() > kClientKeyBytesMax) {
    step.reject(ErrorCode::kInvalid, valid ? "client key" : valid.error().text);
    return;
  }
  if (std::string full = why_not(fact); !full.empty()) {
    step.reject(ErrorCode::kUnavailable, std::move(full));
    return;
  }
  Job job;
  job.id = books_.jobs.give_number();
  job.spec = fact.spec;
  job.key = fact.key;
  job.submitted_by = fact.submitted_by;
  job.submitted_at = books_.cluster_time;
  step.result.job = job.id;
  Job& placed = books_.jobs.add(std::move(job));
  keep_submitted(books_, step, placed);
  move(step, placed, JobEvent::kSubmitted, "submitted", Token());
  step.result.capacity_changed = true;
}

void State::on(Step& step, const entry::Tick& fact) {
  if (fact.elapsed <= Duration::zero() || fact.elapsed > kTickMax) {
    step.reject(ErrorCode::kInvalid, "elapsed time out of range");
    return;
  }
  books_.cluster_time += fact.elapsed;
  step.result.capacity_changed |= is_recovering();  // The queue may be waiting for hosts.
  forget_old_keys(books_);
  settle_unclassed(step);
  step.result.capacity_changed |= books_.jobs.let_in_until(books_.cluster_time);
}

std::string State::why_not(const entry::Submit& fact) const {
  if (books_.jobs.waiting() >= kJobsQueuedMax) {
    return "the queue is full: " + std::to_string(kJobsQueuedMax) + " jobs wait";
  }
  if (!books_.kept.has_room_for_job(kept_bytes_of_job(fact.spec, fact.key, fact.submitted_by))) {
    return "the commands of all jobs that have not ended take " +
           std::to_string(books_.kept.max().unfinished_jobs >> 20) +
           " MiB: wait until some end, or put what is long into a file";
  }
  return "";
}

std::string State::why_not(const entry::Register& fact) const {
  return books_.hosts.why_not(fact);
}

void State::on(Step& step, const entry::Register& fact) {
  const std::string why = why_not(fact);
  if (!why.empty()) {
    step.reject(ErrorCode::kConflict, why);
    return;
  }
  const HostBook::Registered changed = books_.hosts.on_registered(fact);
  if (changed.is_quarantine_changed) {
    step.result.events.push_back({Severity::kInfo,
                                  "host_quarantine",
                                  {{"host", fact.host.short_hex()},
                                   {"gpus", std::to_string(fact.stuck.size())},
                                   {"index", std::to_string(step.index.value())}}});
  }
  if (changed.is_new_pair) {
    end_earlier_grants(step, fact, changed.is_rebooted);
    books_.jobs.let_in(fact.host);
  }
  step.result.capacity_changed = true;
  step.result.events.push_back({Severity::kInfo,
                                "host_registered",
                                {{"host", fact.host.short_hex()},
                                 {"generation", std::to_string(fact.start.generation.value())},
                                 {"gpus", std::to_string(fact.gpus.size())},
                                 {"rebooted", changed.is_rebooted ? "1" : "0"},
                                 {"index", std::to_string(step.index.value())}}});
}

void State::end_earlier_grants(Step& step, const entry::Register& fact, bool rebooted) {
  for (const Token& token : tokens_on(fact.host)) {
    fact::Registered registered{fact.host, fact.start, false, false, rebooted};
    for (const entry::LiveGrant& grant : fact.live) {
      if (grant.token == token) {
        registered.listed = true;
        registered.ended = grant.ended;
      }
    }
    feed(step, token, registered);
  }
}

void State::on(Step& step, const entry::Observe& fact) {
  if (!books_.hosts.on_observed(fact)) {
    step.reject(ErrorCode::kNotFound, "host is not registered");
    return;
  }
  step.result.capacity_changed = true;
  step.result.events.push_back({Severity::kInfo,
                                "host_observed",
                                {{"host", fact.host.short_hex()},
                                 {"verdict", std::string(text_of(fact.verdict))},
                                 {"index", std::to_string(step.index.value())}}});
  settle_host(step, fact.host);
}

const Job* State::job(JobId id) const {
  return books_.jobs.find(id);
}

const HostRecord* State::host(const HostId& id) const {
  return books_.hosts.find(id);
}

const Attempt* State::attempt(const Token& token) const {
  return books_.attempts.find(token);
}

std::optional<JobId> State::job_of_key(const std::string& key) const {
  return books_.keys.find(key);
}

std::vector<Token> State::tokens_on(const HostId& host) const {
  return books_.gpus.tokens_on(host);
}

std::vector<std::string> State::free_gpus(const HostRecord& host) const {
  return books_.gpus.free_on(host);
}

bool State::is_over(const Token& token, const HostId& host) const {
  const LogIndex last =
      token.epoch == books_.epochs.counter() ? books_.applied : books_.epochs.last_of(token.epoch);
  const Attempt* known = attempt(token);
  if (known == nullptr && token.index > last.value()) {
    return false;
  }
  if (known == nullptr) {
    return true;
  }
  const MemberRecord* record = known->find(host);
  return record == nullptr || record->end != MemberEnd::kNone;
}

std::optional<std::uint32_t> State::largest_possible(const std::string& gpu_type,
                                                     bool is_kept) const {
  return books_.hosts.largest_possible(gpu_type, is_kept);
}

Status validate(const JobSpec& spec) {
  std::size_t command_bytes = 0;
  for (const std::string& text : spec.argv) {
    command_bytes += text.size();
  }
  for (const std::string& text : spec.environment) {
    command_bytes += text.size();
  }
  const auto invalid = [](std::string text) { return Error{ErrorCode::kInvalid, std::move(text)}; };
  if (spec.gpus < 1 || spec.gpus > kGangGpusMax) {
    return invalid("gpus must be 1 to " + std::to_string(kGangGpusMax));
  }
  if (spec.argv.empty()) {
    return invalid("no command");
  }
  if (command_bytes > kCommandBytesMax || spec.argv.size() > kTextsMax ||
      spec.environment.size() > kTextsMax) {
    return invalid("command and environment exceed " + std::to_string(kCommandBytesMax) + " bytes");
  }
  if (spec.name.size() > kTextBytesMax || spec.user.size() > kTextBytesMax ||
      spec.gpu_type.size() > kTextBytesMax || spec.directory.size() > kDirectoryBytesMax) {
    return invalid("name, user, type or directory is too long");
  }
  for (const Duration span : {spec.hold, spec.grace, spec.patience, spec.time_limit}) {
    if (span < Duration::zero() || span > kSpanMax) {
      return invalid("a time is negative or above a year");
    }
  }
  return ok();
}

void State::check_invariants() const {
  scheduler::check_invariants(books_);
}

void State::check_everything() const {
  scheduler::check_everything(books_);
}

}  // namespace muster::scheduler
