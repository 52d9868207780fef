// What the leader says to agents by itself. Each message follows from an attempt's applied state
// and is repeated until the log, or the agent, shows that it was heard.

#include "scheduler/leader/scheduler.h"

#include <algorithm>

#include "gossip/base/check.h"

namespace muster::scheduler {
namespace {

/// A renewal may come from a grant that is still READY because its Start was lost, so a Start is
/// never quite given up; it only becomes rare.
constexpr Duration kResendRunning = std::chrono::seconds(60);
/// Where the agent said that it has the Start: a word a minute to each of thousands of hosts is a
/// link a minute to each.
constexpr Duration kResendHeard = std::chrono::hours(1);

}  // namespace

void Scheduler::drive_all(Instant now) {
  for (const Token& token : state_.live()) {
    unjudged_.insert(token);
    drive(now, token);
  }
}

void Scheduler::drive(Instant now, const Token& token) {
  const Attempt* attempt = state_.attempt(token);
  if (attempt == nullptr || attempt->state == AttemptState::kEnded) {
    const bool was_reserved = reserved_since_.erase(token) != 0;
    if (was_reserved && attempt != nullptr) {
      tell_aborted(*attempt);
    }
    auto resend = resends_.lower_bound({token, HostId()});
    while (resend != resends_.end() && resend->first.first == token) {
      const MemberKey key = resend->first;
      ++resend;
      drop_resend(key);
    }
    std::erase_if(running_, [&](const MemberKey& key) { return key.first == token; });
    return;
  }
  if (attempt->state == AttemptState::kReserved) {
    reserved_since_.try_emplace(token, now);
  } else {
    reserved_since_.erase(token);
  }
  for (const MemberRecord& record : attempt->members) {
    drive_member(now, *attempt, record);
  }
}

/// Abort frees in the log at once; the host may as well learn it before its hold lapses (rule 10).
void Scheduler::tell_aborted(const Attempt& attempt) {
  for (const MemberRecord& record : attempt.members) {
    if (record.end == MemberEnd::kAborted) {
      output_.say(record.member.host, Nonce(),
          Stop{attempt.token, record.member.start, Duration::zero(), "aborted"});
    }
  }
}

std::optional<AgentMessage> Scheduler::wanted_message(const Attempt& attempt,
                                                      const MemberRecord& record) const {
  const Job* job = state_.job(attempt.job);
  if (record.end != MemberEnd::kNone) {
    return std::nullopt;
  }
  switch (attempt.state) {
    case AttemptState::kReserved: {
      if (record.ready || job == nullptr) {
        return std::nullopt;
      }
      Assign assign{attempt.token, record.member.start, attempt.job, attempt.number, job->spec, {},
                    attempt.hold};
      for (const MemberRecord& other : attempt.members) {
        assign.members.push_back(other.member);
      }
      return assign;
    }
    case AttemptState::kStarted:
      return Start{attempt.token, record.member.start, attempt.master};
    case AttemptState::kStopping:
      return Stop{attempt.token, record.member.start, attempt.grace,
                  std::string(text_of(attempt.cause))};
    case AttemptState::kEnded:
      return std::nullopt;
  }
  return std::nullopt;
}

void Scheduler::drive_member(Instant now, const Attempt& attempt, const MemberRecord& record) {
  const MemberKey key{attempt.token, record.member.host};
  std::optional<AgentMessage> message = wanted_message(attempt, record);
  if (!message.has_value()) {
    drop_resend(key);
    return;
  }
  const auto known = resends_.find(key);
  if (known != resends_.end() && known->second.phase == attempt.state &&
      known->second.start == record.member.start) {
    return;
  }
  schedule_resend(key, Resend{now + config_.resend_first, config_.resend_first, attempt.state,
                              record.member.start});
  output_.say(record.member.host, Nonce(), std::move(*message));
}

void Scheduler::schedule_resend(const MemberKey& key, const Resend& resend) {
  drop_resend(key);
  resends_.emplace(key, resend);
  resends_by_time_.insert({resend.at, key});
}

void Scheduler::drop_resend(const MemberKey& key) {
  const auto known = resends_.find(key);
  if (known != resends_.end()) {
    resends_by_time_.erase({known->second.at, key});
    resends_.erase(known);
  }
}

/// What a renewal says of the Start: whoever waits for it is told at once, whoever has it no more.
/// Older agents do not say; they are told again from time to time.
void Scheduler::note_started(Instant now, const MemberKey& key, const Attempt& attempt,
                             const Renew& renew) {
  if (attempt.state == AttemptState::kReserved) {
    return;
  }
  const bool says = renew.unstarted.has_value();
  const bool waits = says && std::find(renew.unstarted->begin(), renew.unstarted->end(),
                                       key.first) != renew.unstarted->end();
  if (!waits) {
    running_.insert(key);
  }
  const auto known = resends_.find(key);
  if (!says || attempt.state != AttemptState::kStarted || known == resends_.end()) {
    return;
  }
  Resend resend = known->second;
  if (waits && resend.wait > config_.resend_last) {
    running_.erase(key);
    resend.wait = config_.resend_first;
    resend.at = now;
    schedule_resend(key, resend);
  } else if (!waits && resend.wait < kResendHeard) {
    resend.wait = kResendHeard;
    resend.at = now + resend.wait;
    schedule_resend(key, resend);
  }
}

void Scheduler::resend_due(Instant now) {
  while (!resends_by_time_.empty() && resends_by_time_.begin()->first <= now) {
    const MemberKey key = resends_by_time_.begin()->second;
    Resend resend = resends_.at(key);
    const Attempt* attempt = state_.attempt(key.first);
    CHECK(attempt != nullptr);
    const MemberRecord* record = attempt->find(key.second);
    CHECK(record != nullptr);
    std::optional<AgentMessage> message = wanted_message(*attempt, *record);
    if (!message.has_value()) {
      drop_resend(key);
      continue;
    }
    const bool answered = attempt->state == AttemptState::kStarted && running_.count(key) != 0;
    resend.wait = answered ? std::max(resend.wait, kResendRunning)
                           : std::min(resend.wait * 2, config_.resend_last);
    resend.at = now + resend.wait;
    schedule_resend(key, resend);
    output_.say(key.second, Nonce(), std::move(*message));
  }
}

}  // namespace muster::scheduler
