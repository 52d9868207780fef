#include "scheduler/leader/resends.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <utility>

#include "gossip/base/check.h"

namespace muster::scheduler {
namespace {

/// A renewal may come from a grant that is still READY because its Start was lost, so a Start is
/// never quite given up; it only becomes rare.
constexpr Duration kResendRunning = std::chrono::seconds(60);
/// A Start is repeated once soon, on the connection that Ready came on. The next time it would be a
/// link to each host; by then an agent that started has renewed, by way of a relay.
constexpr Duration kResendRenewed = std::chrono::seconds(6);
/// After the agent said that it has the Start: a message a minute to each of thousands of hosts is
/// a link a minute to each.
constexpr Duration kResendHeard = std::chrono::hours(1);

/// An Abort frees GPUs in the log at once; the host may as well learn it before its hold lapses.
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

/// The place of the host, or the place at which it belongs.
template <class Members>
auto place_of(Members& members, const HostId& host) {
  return std::lower_bound(members.begin(), members.end(), host,
                          [](const auto& member, const HostId& id) { return member.first < id; });
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

void Resends::on_touched(const StepContext& step, const Token& token, bool was_reserved,
                         bool is_rekeyed) {
  const Attempt* attempt = step.state.attempt(token);
  if (attempt == nullptr || attempt->state == AttemptState::kEnded) {
    if (was_reserved && attempt != nullptr) {
      tell_aborted(*attempt, step.output);
    }
    drop_attempt(token);
    return;
  }
  const auto known = resends_.find(token);
  if (known != resends_.end() && known->second.phase == attempt->state && !is_rekeyed) {
    return;  // A change of one member shows when its message is due.
  }
  MemberList members;
  for (const MemberRecord& record : attempt->members) {
    follow_member(step, *attempt, record, members);
  }
}

void Resends::drop_attempt(const Token& token) {
  resends_.erase(token);
  forget_stale();
  auto running = running_.lower_bound({token, HostId()});
  while (running != running_.end() && running->first == token) {
    running = running_.erase(running);
  }
}

void Resends::follow_member(const StepContext& step, const Attempt& attempt,
                            const MemberRecord& record, MemberList& members) {
  const MemberKey key{attempt.token, record.member.host};
  if (!wants_message(step.state, attempt, record)) {
    drop(key);
    return;
  }
  const Resend* known = find(key);
  if (known != nullptr && known->phase == attempt.state && known->start == record.member.start) {
    return;
  }
  const Duration first = step.config.resend_first;
  schedule(key, Resend{step.now + first, first, attempt.state, record.member.start});
  step.output.say(record.member.host, Nonce(),
                  *wanted_message(step.state, attempt, record, members));
}

Resends::Resend* Resends::find(const MemberKey& key) {
  const auto known = resends_.find(key.first);
  if (known == resends_.end()) {
    return nullptr;
  }
  auto& members = known->second.members;
  const auto place = place_of(members, key.second);
  return place == members.end() || place->first != key.second ? nullptr : &place->second;
}

void Resends::schedule(const MemberKey& key, const Resend& resend) {
  OfAttempt& attempt = resends_[key.first];
  attempt.phase = resend.phase;
  const auto place = place_of(attempt.members, key.second);
  if (place == attempt.members.end() || place->first != key.second) {
    attempt.members.insert(place, {key.second, resend});
  } else {
    place->second = resend;
  }
  if (resend.at < attempt.due) {
    await(key.first, attempt, resend.at);
  }
}

void Resends::await(const Token& token, OfAttempt& attempt, Instant due) {
  attempt.due = due;
  due_.emplace_back(due, token);
  std::push_heap(due_.begin(), due_.end(), std::greater<>());
  forget_stale();
}

void Resends::forget_stale() {
  if (due_.size() <= 2 * resends_.size() + kStaleDuesMax) {
    return;
  }
  std::erase_if(due_, [&](const auto& due) {
    const auto known = resends_.find(due.second);
    return known == resends_.end() || known->second.due != due.first;
  });
  std::make_heap(due_.begin(), due_.end(), std::greater<>());
}

void Resends::drop(const MemberKey& key) {
  const auto known = resends_.find(key.first);
  if (known == resends_.end()) {
    return;
  }
  auto& members = known->second.members;
  const auto place = place_of(members, key.second);
  if (place != members.end() && place->first == key.second) {
    members.erase(place);
    if (members.empty()) {
      resends_.erase(known);
      forget_stale();
    }
  }
}

void Resends::on_renewed(const StepContext& step, const MemberKey& key, const Attempt& attempt,
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
  const Resend* known = find(key);
  if (!says || attempt.state != AttemptState::kStarted || known == nullptr) {
    return;
  }
  Resend resend = *known;
  if (waits && resend.wait > step.config.resend_first) {
    running_.erase(key);
    resend.wait = step.config.resend_first;
    resend.at = step.now;
    schedule(key, resend);
  } else if (!waits && resend.wait < kResendHeard) {
    resend.wait = kResendHeard;
    resend.at = step.now + resend.wait;
    schedule(key, resend);
  }
}

void Resends::say_due(const StepContext& step) {
  while (!due_.empty() && due_.front().first <= step.now) {
    std::pop_heap(due_.begin(), due_.end(), std::greater<>());
    const auto [due, token] = due_.back();
    due_.pop_back();
    const auto known = resends_.find(token);
    if (known != resends_.end() && known->second.due == due) {
      say_due(step, token);
    }
  }
}

void Resends::say_due(const StepContext& step, const Token& token) {
  const Attempt* attempt = step.state.attempt(token);
  CHECK(attempt != nullptr);
  OfAttempt& of_attempt = resends_.find(token)->second;
  MemberList members;
  Instant next = kNever;
  std::erase_if(of_attempt.members, [&](std::pair<HostId, Resend>& member) {
    auto& [host, resend] = member;
    if (resend.at > step.now) {
      next = std::min(next, resend.at);
      return false;
    }
    const MemberRecord* record = attempt->find(host);
    CHECK(record != nullptr);
    std::optional<AgentMessage> message = wanted_message(step.state, *attempt, *record, members);
    if (!message.has_value()) {
      return true;
    }
    const bool is_answered =
        attempt->state == AttemptState::kStarted && running_.count({token, host}) != 0;
    const bool is_start = attempt->state == AttemptState::kStarted;
    const Duration longer = std::max(resend.wait * 2, is_start ? kResendRenewed : Duration::zero());
    resend.wait = is_answered ? std::max(resend.wait, kResendRunning)
                              : std::min(longer, step.config.resend_last);
    resend.at = step.now + resend.wait;
    next = std::min(next, resend.at);
    if (attempt->state == AttemptState::kReserved) {
      step.output.unanswered.push_back(host);
    }
    step.output.say_again(host, std::move(*message));
    return false;
  });
  if (of_attempt.members.empty()) {
    resends_.erase(token);
    forget_stale();
  } else {
    await(token, of_attempt, next);
  }
}

void Resends::check_invariants() const {
  CHECK(resends_.size() <= due_.size());
  CHECK(due_.size() <= 2 * resends_.size() + kStaleDuesMax);
}

}  // namespace muster::scheduler
