// The part of State that feeds the log's facts to the attempts and keeps the grants in step.

#include "scheduler/state/state.h"

#include <algorithm>

#include "gossip/base/check.h"
#include "scheduler/protocol/mutants.h"
#include "scheduler/state/forgetting.h"

namespace muster::scheduler {

std::string State::why_not_member(const entry::Decide& fact, std::size_t position) const {
  const Member& member = fact.members[position];
  const HostRecord* record = host(member.host);
  if (record == nullptr || record->start != member.start) {
    return "a member's pair is not registered";
  }
  if (!record->takes_work() || member.gpus.empty()) {
    return "a member takes no work";
  }
  if (!record->suits(job(fact.job)->spec)) {
    return "a member has no PID namespaces";
  }
  const std::vector<std::string> free = free_gpus(*record);
  for (const GpuSlot& gpu : member.gpus) {
    if (!books_.gpus.is_free_at(gpu) ||
        std::find(free.begin(), free.end(), gpu.uuid) == free.end()) {
      return "a gpu is not free";
    }
  }
  return "";
}

std::string State::why_not(const entry::Decide& fact) const {
  const Job* wanted = job(fact.job);
  if (wanted == nullptr || wanted->state != JobState::kQueued || !wanted->current.is_none()) {
    return "the job is not queued";
  }
  if (fact.attempt != wanted->attempts + 1) {
    return "not the next attempt";
  }
  std::set<HostId> hosts;
  std::set<GpuSlot> gpus;
  std::uint32_t ranks = 0;
  for (std::size_t i = 0; i < fact.members.size(); ++i) {
    const Member& member = fact.members[i];
    if (member.first_rank != ranks) {
      return "ranks are not in order";
    }
    const std::string why = why_not_member(fact, i);
    if (!why.empty()) {
      return why;
    }
    ranks += static_cast<std::uint32_t>(member.gpus.size());
    hosts.insert(member.host);
    gpus.insert(member.gpus.begin(), member.gpus.end());
  }
  if (hosts.size() != fact.members.size() || gpus.size() != ranks || ranks != wanted->spec.gpus) {
    return "the gang is not whole";
  }
  return "";
}

void State::on(Step& step, const entry::Decide& fact) {
  // Checked anew: what the leader saw when it decided may have changed before this entry.
  const std::string why = why_not(fact);
  if (!why.empty()) {
    books_.attempts.count(Edge::kDecideRejected);
    step.result.capacity_changed = true;
    step.reject(ErrorCode::kConflict, why);
    return;
  }
  Job& owner = books_.jobs.at(fact.job);
  Attempt attempt;
  attempt.token = Token{books_.epochs.counter(), step.index.value()};
  if (mutant(SchedulerMutant::kEqualToken) && !owner.attempt_tokens.empty()) {
    attempt.token = owner.attempt_tokens.back();
  }
  attempt.job = fact.job;
  attempt.number = fact.attempt;
  attempt.keep = owner.spec.keep_when_isolated;
  attempt.hold = fact.hold;
  attempt.grace = fact.grace;
  attempt.deadline = fact.deadline;
  attempt.reserved_at = books_.cluster_time;
  for (const Member& member : fact.members) {
    attempt.members.push_back(MemberRecord{member, false, MemberEnd::kNone, LogIndex(), {}});
  }
  books_.attempts.count(Edge::kReserved);
  bind(step, owner, std::move(attempt));
}

void State::bind(Step& step, Job& owner, Attempt attempt) {
  for (const MemberRecord& record : attempt.members) {
    if (record.end != MemberEnd::kNone) {
      continue;
    }
    books_.hosts.raise_floor(record.member.host, attempt.token);
    books_.gpus.grant(attempt.token, record.member);
  }
  owner.attempts = attempt.number;
  owner.current = attempt.token;
  note_attempt(books_, owner, attempt.token);
  step.result.touched.push_back(attempt.token);
  step.result.job = owner.id;
  move(step, owner, JobEvent::kDecided, "decided", attempt.token);
  books_.attempts.add(std::move(attempt));
}

Outcome State::feed(Step& step, const Token& token, const Fact& fact) {
  Attempt* const found = books_.attempts.find(token);
  if (found == nullptr) {
    // Ended so long ago that only its being over is known.
    books_.attempts.count(Edge::kIgnoredEnded);
    return Outcome{};
  }
  Attempt& attempt = *found;
  const Outcome outcome = books_.attempts.feed(attempt, fact);
  step.result.events.push_back(
      {Severity::kDebug,
       "attempt_edge",
       {{"job", std::to_string(attempt.job.value())},
        {"token", token.text()},
        {"edge", std::string(text_of(outcome.edge))},
        {"then", outcome.has_then ? std::string(text_of(outcome.then)) : "-"},
        {"state", std::string(text_of(attempt.state))},
        {"index", std::to_string(step.index.value())}}});
  follow(step, attempt, outcome);
  return outcome;
}

void State::follow(Step& step, Attempt& attempt, const Outcome& outcome) {
  step.result.touched.push_back(attempt.token);
  for (const HostId& host : outcome.freed) {
    free_member(attempt, host);
    step.result.capacity_changed = true;
  }
  settle(step, attempt);
  const Job* owner = job(attempt.job);
  const bool remembered =
      owner != nullptr && std::find(owner->attempt_tokens.begin(), owner->attempt_tokens.end(),
                                    attempt.token) != owner->attempt_tokens.end();
  if (attempt.state == AttemptState::kEnded && !remembered) {
    books_.attempts.forget(attempt.token);
  }
}

void State::free_member(const Attempt& attempt, const HostId& host) {
  const MemberRecord* record = attempt.find(host);
  CHECK(record != nullptr);
  CHECK(record->end != MemberEnd::kNone);
  books_.gpus.free(attempt.token, record->member);
}

void State::on(Step& step, const entry::Ready& fact) {
  feed(step, fact.token, fact::Ready{fact.host, fact.start, fact.master});
}

void State::on(Step& step, const entry::Start& fact) {
  const Outcome outcome = feed(step, fact.token, fact::Start{books_.cluster_time});
  if (outcome.edge == Edge::kStarted) {
    move(step, books_.jobs.at(books_.attempts.at(fact.token).job), JobEvent::kStarted, "all_ready",
         fact.token);
  }
}

void State::on(Step& step, const entry::Stop& fact) {
  const Attempt* before = attempt(fact.token);
  if (before != nullptr && before->state == AttemptState::kStarted) {
    move(step, books_.jobs.at(before->job), JobEvent::kStopLogged, std::string(text_of(fact.cause)),
         fact.token);
  }
  feed(step, fact.token, fact::Stop{fact.cause});
}

void State::on(Step& step, const entry::Finish& fact) {
  const Outcome outcome =
      feed(step, fact.token, fact::Finish{fact.host, fact.start, fact.results, fact.last});
  if (outcome.edge == Edge::kFinishAfterExpire) {
    step.reject(ErrorCode::kConflict, "the host's share was over already");
  }
}

void State::on(Step& step, const entry::Abort& fact) {
  feed(step, fact.token, fact::Abort{fact.cause, fact.host});
}

void State::on(Step& step, const entry::Condemn& fact) {
  for (const Token& token : fact.tokens) {
    feed(step, token, fact::Condemn{fact.host, step.index});
    step.result.events.push_back({Severity::kWarn,
                                  "host_condemned",
                                  {{"host", fact.host.short_hex()},
                                   {"token", token.text()},
                                   {"index", std::to_string(step.index.value())}}});
  }
}

void State::on(Step& step, const entry::Pardon& fact) {
  for (const Token& token : fact.tokens) {
    feed(step, token, fact::Pardon{fact.host});
    step.result.events.push_back({Severity::kInfo,
                                  "host_pardoned",
                                  {{"host", fact.host.short_hex()},
                                   {"token", token.text()},
                                   {"index", std::to_string(step.index.value())}}});
  }
}

void State::on(Step& step, const entry::Expire& fact) {
  const Outcome outcome = feed(step, fact.token, fact::Expire{fact.host, fact.condemn});
  if (outcome.edge != Edge::kExpired) {
    step.reject(ErrorCode::kConflict, "no such condemnation in force");
    return;
  }
  step.result.events.push_back({Severity::kWarn,
                                "host_expired",
                                {{"host", fact.host.short_hex()},
                                 {"token", fact.token.text()},
                                 {"condemn", std::to_string(fact.condemn.value())},
                                 {"index", std::to_string(step.index.value())}}});
}

}  // namespace muster::scheduler
