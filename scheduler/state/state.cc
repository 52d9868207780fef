#include "scheduler/state/state.h"

#include <algorithm>

#include "gossip/base/check.h"
#include "scheduler/protocol/mutants.h"

namespace muster::scheduler {

void State::reject(Step& step, ErrorCode code, std::string why) {
  step.result.rejected = std::move(why);
  step.result.rejected_as = code;
}

ApplyResult State::apply(LogIndex index, const Entry& entry) {
  CHECK(index > applied_);
  Step step{index, {}};
  applied_ = index;
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
  CHECK(index > applied_);
  applied_ = index;
  last_outcome_ = 0;
}

void State::on(Step& step, const entry::Submit& fact) {
  if (const std::optional<JobId> known = job_of_key(fact.key)) {
    step.result.job = *known;
    return;
  }
  const Status valid = validate(fact.spec);
  if (!valid || fact.key.empty() || fact.key.size() > kClientKeyBytesMax) {
    reject(step, ErrorCode::kInvalid, valid ? "client key" : valid.error().text);
    return;
  }
  if (std::string full = why_not(fact); !full.empty()) {
    reject(step, ErrorCode::kUnavailable, std::move(full));
    return;
  }
  last_job_ = last_job_.next();
  Job job;
  job.id = last_job_;
  job.spec = fact.spec;
  job.key = fact.key;
  job.submitted_by = fact.submitted_by;
  job.submitted_at = cluster_time_;
  step.result.job = job.id;
  queue_.insert({job.spec.priority, job.id});
  Job& placed = jobs_[job.id] = std::move(job);
  count_submitted(step, placed);
  move(step, placed, JobEvent::kSubmitted, "submitted", Token());
  step.result.capacity_changed = true;
}

void State::on(Step& step, const entry::Tick& fact) {
  if (fact.elapsed <= Duration::zero() || fact.elapsed > kTickMax) {
    reject(step, ErrorCode::kInvalid, "elapsed time out of range");
    return;
  }
  cluster_time_ += fact.elapsed;
  step.result.capacity_changed |= is_recovering();  // The queue may be waiting for hosts.
  forget_old_keys();
  settle_unclassed(step);
  for (const QueueKey& place : queue_) {
    Job& job = jobs_.at(place.job);
    const std::size_t before = job.left_out.size();
    std::erase_if(job.left_out, [&](const LeftOut& out) { return out.until <= cluster_time_; });
    step.result.capacity_changed |= job.left_out.size() != before;
  }
}

std::string State::why_not(const entry::Register& fact) const {
  return hosts_.why_not(fact);
}

void State::on(Step& step, const entry::Register& fact) {
  const std::string why = why_not(fact);
  if (!why.empty()) {
    reject(step, ErrorCode::kConflict, why);
    return;
  }
  const HostBook::Registered changed = hosts_.on_registered(fact);
  if (changed.is_quarantine_changed) {
    step.result.events.push_back({Severity::kInfo,
                                  "host_quarantine",
                                  {{"host", fact.host.short_hex()},
                                   {"gpus", std::to_string(fact.stuck.size())},
                                   {"index", std::to_string(step.index.value())}}});
  }
  if (changed.is_new_pair) {
    end_earlier_grants(step, fact, changed.is_rebooted);
    for (auto& [id, job] : jobs_) {
      std::erase_if(job.left_out, [&](const LeftOut& out) { return out.host == fact.host; });
    }
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
  if (!hosts_.on_observed(fact)) {
    reject(step, ErrorCode::kNotFound, "host is not registered");
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
  const auto found = jobs_.find(id);
  return found == jobs_.end() ? nullptr : &found->second;
}

const HostRecord* State::host(const HostId& id) const {
  return hosts_.find(id);
}

const Attempt* State::attempt(const Token& token) const {
  const auto found = attempts_.find(token);
  return found == attempts_.end() ? nullptr : &found->second;
}

std::optional<JobId> State::job_of_key(const std::string& key) const {
  return keys_.find(key);
}

std::vector<Token> State::tokens_on(const HostId& host) const {
  return gpus_.tokens_on(host);
}

std::vector<std::string> State::free_gpus(const HostRecord& host) const {
  return gpus_.free_on(host);
}

bool State::is_over(const Token& token, const HostId& host) const {
  const LogIndex last =
      token.epoch == epochs_.counter() ? applied_ : epochs_.last_of(token.epoch);
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
  return hosts_.largest_possible(gpu_type, is_kept);
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
  CHECK(queue_.size() + suspended_ <= jobs_.size());
  CHECK(live_.size() <= attempts_.size());
  CHECK(ended_jobs_.size() <= kJobsEndedKept);
  keys_.check();
}

void State::check_everything() const {
  check_invariants();
  gpus_.check();
  GpuBook held;
  for (const Token& token : live_) {
    const Attempt& known = attempts_.at(token);
    CHECK(known.state != AttemptState::kEnded);
    for (const MemberRecord& record : known.members) {
      if (record.end != MemberEnd::kNone) {
        continue;
      }
      held.grant(token, record.member);
    }
  }
  CHECK(held == gpus_);
  std::size_t suspended = 0;
  std::size_t earlier = 0;
  for (const auto& [id, known] : jobs_) {
    for (std::size_t i = 0; i + 1 < known.attempt_tokens.size() && !known.has_ended(); ++i) {
      const bool is_counted = earlier_attempts_.contains(known.attempt_tokens[i]);
      CHECK(is_counted || is_mutant_planted());
      earlier += is_counted ? 1 : 0;
    }
    const bool queued = queue_.count({known.spec.priority, id}) == 1;
    CHECK(queued == (known.state == JobState::kQueued));
    CHECK(known.state != JobState::kSuspended || known.current.is_none());
    CHECK(known.order == JobOrder::kNone || !known.current.is_none());
    suspended += known.state == JobState::kSuspended ? 1U : 0U;
    CHECK(!known.has_ended() || known.current.is_none());
    CHECK(known.current.is_none() || attempts_.count(known.current) == 1);
    const bool waits = !known.current.is_none() && live_.count(known.current) == 0;
    CHECK(waits == (unclassed_.count(known.current) == 1));
  }
  CHECK(suspended == suspended_);
  CHECK(earlier == earlier_attempts_.size() || is_mutant_planted());
  CHECK(counted() == kept_ || is_mutant_planted());
}

}  // namespace muster::scheduler
