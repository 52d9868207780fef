#include "scheduler/leader/resends.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "gossip/base/check.h"

namespace muster::scheduler {
namespace {

/// A renewal may come from a grant that is still READY because its Start was lost, so a Start is
/// never quite given up; it only becomes rare.
constexpr Duration kResendRunning = std::chrono::seconds(60);
/// Where the agent said that it has the Start: a word a minute to each of thousands of hosts is a
/// link a minute to each.
constexpr Duration kResendHeard = std::chrono::hours(1);

/// Abort frees in the log at once; the host may as well learn it before its hold lapses.
void tell_aborted(const Attempt& attempt, SchedulerOutput& output) {
  for (const MemberRecord& record : attempt.members) {
    if (record.end == MemberEnd::kAborted) {
      output.say(record.member.host, Nonce(),
                 Stop{attempt.token, record.member.start, Duration::zero(), "aborted"});
    }
  }
}

MemberList members_of(const Attempt& attempt) {
  std::vector<Member> members;
  for (const MemberRecord& record : attempt.members) {
    members.push_back(record.member);
  }
  return members;
}

bool wants_message(const State& state, const Attempt& attempt, const MemberRecord& record) {
  if (record.end != MemberEnd::kNone || attempt.state == AttemptState::kEnded) {
    return false;
  }
  return attempt.state != AttemptState::kReserved ||
         (!record.ready && state.job(attempt.job) != nullptr);
}

}  // namespace

std::optional<AgentMessage> wanted_message(const State& state, const Attempt& attempt,
                                           const MemberRecord& record, MemberList& members) {
  if (!wants_message(state, attempt, record)) {
    return std::nullopt;
  }
  switch (attempt.state) {
    case AttemptState::kReserved: {
      Assign assign{attempt.token,
                    record.member.start,
                    attempt.job,
                    attempt.number,
                    state.job(attempt.job)->spec,
                    members.size() == 0 ? members = members_of(attempt) : members,
                    attempt.hold};
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

void Resends::on_touched(const Turn& turn, const Token& token, bool was_reserved) {
  const Attempt* attempt = turn.state.attempt(token);
  if (attempt == nullptr || attempt->state == AttemptState::kEnded) {
    if (was_reserved && attempt != nullptr) {
      tell_aborted(*attempt, turn.output);
    }
    drop_attempt(token);
    return;
  }
  MemberList members;
  for (const MemberRecord& record : attempt->members) {
    follow_member(turn, *attempt, record, members);
  }
}

void Resends::drop_attempt(const Token& token) {
  auto resend = resends_.lower_bound({token, HostId()});
  while (resend != resends_.end() && resend->first.first == token) {
    const MemberKey key = resend->first;
    ++resend;
    drop(key);
  }
  std::erase_if(running_, [&](const MemberKey& key) { return key.first == token; });
}

void Resends::follow_member(const Turn& turn, const Attempt& attempt, const MemberRecord& record,
                            MemberList& members) {
  const MemberKey key{attempt.token, record.member.host};
  if (!wants_message(turn.state, attempt, record)) {
    drop(key);
    return;
  }
  const auto known = resends_.find(key);
  if (known != resends_.end() && known->second.phase == attempt.state &&
      known->second.start == record.member.start) {
    return;
  }
  const Duration first = turn.config.resend_first;
  schedule(key, Resend{turn.now + first, first, attempt.state, record.member.start});
  turn.output.say(record.member.host, Nonce(),
                  *wanted_message(turn.state, attempt, record, members));
}

void Resends::schedule(const MemberKey& key, const Resend& resend) {
  drop(key);
  resends_.emplace(key, resend);
  by_time_.insert({resend.at, key});
}

void Resends::drop(const MemberKey& key) {
  const auto known = resends_.find(key);
  if (known != resends_.end()) {
    by_time_.erase({known->second.at, key});
    resends_.erase(known);
  }
}

void Resends::on_renewed(const Turn& turn, const MemberKey& key, const Attempt& attempt,
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
  if (waits && resend.wait > turn.config.resend_last) {
    running_.erase(key);
    resend.wait = turn.config.resend_first;
    resend.at = turn.now;
    schedule(key, resend);
  } else if (!waits && resend.wait < kResendHeard) {
    resend.wait = kResendHeard;
    resend.at = turn.now + resend.wait;
    schedule(key, resend);
  }
}

void Resends::say_due(const Turn& turn) {
  while (!by_time_.empty() && by_time_.begin()->first <= turn.now) {
    const MemberKey key = by_time_.begin()->second;
    Resend resend = resends_.at(key);
    const Attempt* attempt = turn.state.attempt(key.first);
    CHECK(attempt != nullptr);
    const MemberRecord* record = attempt->find(key.second);
    CHECK(record != nullptr);
    MemberList members;
    std::optional<AgentMessage> message = wanted_message(turn.state, *attempt, *record, members);
    if (!message.has_value()) {
      drop(key);
      continue;
    }
    const bool answered = attempt->state == AttemptState::kStarted && running_.count(key) != 0;
    resend.wait = answered ? std::max(resend.wait, kResendRunning)
                           : std::min(resend.wait * 2, turn.config.resend_last);
    resend.at = turn.now + resend.wait;
    schedule(key, resend);
    if (attempt->state == AttemptState::kReserved) {
      turn.output.unanswered.push_back(key.second);
    }
    turn.output.say(key.second, Nonce(), std::move(*message));
  }
}

void Resends::check_invariants() const {
  CHECK(resends_.size() == by_time_.size());
}

}  // namespace muster::scheduler
