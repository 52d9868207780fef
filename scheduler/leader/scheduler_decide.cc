// What the leader proposes: observations first, then what follows from them. Everything here reads
// log state; this leader's clock and view only say when to propose.

#include "scheduler/leader/scheduler.h"

#include <algorithm>

#include "gossip/base/check.h"

namespace muster::scheduler {
namespace {

/// The first host of the gang that is not ready and for which `is_meant` holds; zero = none.
template <class Predicate>
HostId unready_member(const Attempt& attempt, Predicate is_meant) {
  for (const MemberRecord& record : attempt.members) {
    if (!record.ready && is_meant(record.member.host)) {
      return record.member.host;
    }
  }
  return HostId();
}

}  // namespace

void Scheduler::wake_at(Instant when) {
  wake_ = std::min(wake_, when);
}

bool Scheduler::propose(Instant now, const Entry& entry) {
  CHECK(is_ready());
  return proposals_.propose(turn(now), entry);
}

void Scheduler::decide(Instant now) {
  if (!is_ready()) {
    return;
  }
  const bool woken = now >= std::min(wake_, proposals_.next_look());
  if (woken) {
    wake_ = kNever;
    unjudged_.insert(state_.live().begin(), state_.live().end());
    const bool was_lost = proposals_.forget_lost(now);
    placing_wanted_ = placing_wanted_ || was_lost;
  }
  observe_hosts(now);
  judge_attempts(now);
  if (woken) {
    judge_hosts(now);
    expire_due(now);
  }
  place_queue(now);
  tick_cluster_time(now);
}

std::optional<entry::Observe> Scheduler::wanted_observe(const HostRecord& record) const {
  const HostView* known = seen_.view(record.id);
  if (known == nullptr) {
    return std::nullopt;
  }
  const HostView& view = *known;
  const bool names_start = view.start.generation != Generation();
  if (names_start && view.start.generation < record.start.generation) {
    return std::nullopt;  // About an earlier start: the hello since then says more.
  }
  entry::Observe wanted;
  wanted.host = record.id;
  wanted.start = names_start ? view.start : record.seen;
  wanted.verdict = view.verdict;
  wanted.health = view.cordoned   ? Health::kCordoned
                  : view.degraded ? Health::kDegraded
                                  : Health::kHealthy;
  wanted.unhealthy_gpus = view.unhealthy_gpus;
  wanted.quarantined = record.quarantined;
  const bool same = wanted.start == record.seen && wanted.verdict == record.verdict &&
                    wanted.health == record.health &&
                    wanted.unhealthy_gpus == record.unhealthy_gpus;
  return same ? std::nullopt : std::optional(wanted);
}

void Scheduler::observe_hosts(Instant now) {
  std::size_t count = 0;
  for (auto host = unobserved_.begin(); host != unobserved_.end();) {
    const HostRecord* record = state_.host(*host);
    const std::optional<entry::Observe> wanted =
        record == nullptr ? std::nullopt : wanted_observe(*record);
    if (!wanted.has_value()) {
      host = unobserved_.erase(host);
      placing_wanted_ = true;
      continue;
    }
    if (proposals_.is_registering(*host)) {
      ++host;
      continue;
    }
    if (++count > kObservesMax) {
      break;
    }
    propose(now, *wanted);
    ++host;
  }
}

std::set<HostId> Scheduler::unplaceable() const {
  std::set<HostId> hosts = unobserved_;
  hosts.insert(seen_.quiet().begin(), seen_.quiet().end());
  return hosts;
}

void Scheduler::place_queue(Instant now) {
  if (!placing_wanted_ || proposals_.is_deciding() || state_.awaits_hosts()) {
    return;
  }
  placing_wanted_ = false;
  if (state_.queue().empty()) {
    return;
  }
  FreeGpus free(state_, unplaceable());
  std::size_t count = 0;
  for (const QueueKey& place_in_queue : state_.queue()) {
    const Job& job = *state_.job(place_in_queue.job);
    std::optional<Placement> placement = place(free, job);
    if (!placement.has_value() || ++count > kDecidesMax) {
      break;
    }
    free.take(placement->type, placement->members);
    entry::Decide fact;
    fact.job = job.id;
    fact.attempt = job.attempts + 1;
    fact.hold = hold_of(job.spec, placement->members.size());
    fact.grace = job.spec.grace;
    fact.deadline = config_.reserve_deadline;
    fact.members = std::move(placement->members);
    propose(now, fact);
  }
}

void Scheduler::judge_attempts(Instant now) {
  std::set<Token> tokens;
  tokens.swap(unjudged_);
  for (const Token& token : tokens) {
    const Attempt* attempt = state_.attempt(token);
    const Job* job = attempt == nullptr ? nullptr : state_.job(attempt->job);
    if (job == nullptr) {
      continue;
    }
    if (attempt->state == AttemptState::kReserved) {
      judge_reserved(now, *attempt, *job);
    } else if (attempt->state == AttemptState::kStarted) {
      judge_started(now, *attempt, *job);
    }
  }
}

/// Whether the gang fits on what is free and what it holds itself, `gone` left out.
bool Scheduler::fits_without(const HostId& gone, const Attempt& attempt, const Job& job) const {
  const FreeGpus free(state_, unplaceable());
  std::set<HostId> without = barred_hosts(free, job);
  without.insert(gone);
  std::size_t count = 0;
  for (const MemberRecord& record : attempt.members) {
    count += without.count(record.member.host) == 0 ? record.member.gpus.size() : 0;
  }
  const HostRecord* host = state_.host(gone);
  return host != nullptr && count + free.count(host->gpu_type, without) >= job.spec.gpus;
}

void Scheduler::judge_reserved(Instant now, const Attempt& attempt, const Job& job) {
  if (const Cause ordered = ordered_cause(job); ordered != Cause::kNone) {
    propose(now, entry::Abort{attempt.token, ordered, HostId()});
    return;
  }
  if (attempt.all_ready()) {
    propose(now, entry::Start{attempt.token});
    return;
  }
  const HostId gone = unready_member(attempt, [&](const HostId& id) {
    const HostRecord* host = state_.host(id);
    return seen_.is_late(id) ||
           (host != nullptr && (!host->is_reachable() || host->health == Health::kDegraded));
  });
  if (!gone.is_zero() && fits_without(gone, attempt, job)) {
    // Nothing would come of waiting, and elsewhere the gang starts at once.
    propose(now, entry::Abort{attempt.token, Cause::kDeadline, gone});
    return;
  }
  const Instant due = reserved_since_.at(attempt.token) + attempt.deadline;
  // Rule 10: each leader counts anew, but not for ever; cluster time is what they all share.
  const bool counted_out = state_.cluster_time() - attempt.reserved_at >=
                           attempt.deadline * static_cast<std::int64_t>(config_.deadline_counts);
  if (now < due && !counted_out) {
    wake_at(due);
    return;
  }
  const HostId late = unready_member(attempt, [](const HostId&) { return true; });
  propose(now, entry::Abort{attempt.token, Cause::kDeadline, late});
}

void Scheduler::judge_started(Instant now, const Attempt& attempt, const Job& job) {
  const Cause cause = stop_cause(now, attempt, job);
  if (cause != Cause::kNone) {
    propose(now, entry::Stop{attempt.token, cause});
  }
}

Cause Scheduler::ordered_cause(const Job& job) {
  switch (job.order_in_force()) {
    case JobOrder::kNone:
      return Cause::kNone;
    case JobOrder::kSuspend:
      return Cause::kSuspended;
    case JobOrder::kRequeue:
      return Cause::kRequeued;
    case JobOrder::kCancel:
      return Cause::kCancelled;
  }
  return Cause::kNone;
}

Cause Scheduler::stop_cause(Instant now, const Attempt& attempt, const Job& job) {
  if (attempt.has_failed_member()) {
    // Ranks that only our own signals ended were stopped by a lapsed hold: the host was cut off.
    return attempt.program_failure() != nullptr ? Cause::kRankFailed : Cause::kHostLost;
  }
  if (const Cause ordered = ordered_cause(job); ordered != Cause::kNone) {
    return ordered;
  }
  const Duration ran = state_.cluster_time() - attempt.started_at;
  if (job.spec.time_limit > Duration::zero() && ran >= job.spec.time_limit) {
    return Cause::kTimeLimit;
  }
  return is_lost_past_patience(now, attempt, job) ? Cause::kHostLost : Cause::kNone;
}

Instant Scheduler::unreachable_since(const HostRecord& record) const {
  // A new leader counts its patience anew: it has not watched longer than it leads.
  return std::max(seen_.since(record.id).value_or(ready_since_), ready_since_);
}

/// An attempt none of whose ranks is reachable is never stopped by silence: it may be running well.
bool Scheduler::is_lost_past_patience(Instant now, const Attempt& attempt, const Job& job) {
  if (seen_.is_storm() || job.spec.on_lost_host == OnLostHost::kWait) {
    return false;
  }
  bool lost = false;
  bool some_reachable = false;
  for (const MemberRecord& record : attempt.members) {
    const HostRecord* host = state_.host(record.member.host);
    if (record.end != MemberEnd::kNone || host == nullptr) {
      continue;
    }
    if (host->is_reachable()) {
      some_reachable = true;
      continue;
    }
    const bool silent = host->verdict == Verdict::kSilent;
    const Instant due =
        unreachable_since(*host) + (silent ? job.spec.patience : config_.agent_down_patience);
    lost = lost || now >= due;
    if (now < due) {
      wake_at(due);
    }
  }
  return lost && some_reachable;
}

void Scheduler::judge_hosts(Instant now) {
  if (seen_.is_storm()) {
    return;
  }
  for (const auto& [id, record] : state_.hosts()) {
    if (record.is_reachable()) {
      continue;
    }
    const bool silent = record.verdict == Verdict::kSilent;
    Instant due =
        unreachable_since(record) + (silent ? config_.condemn_after : config_.agent_down_patience);
    // Others may not hear it for long though it is heard here: it would be condemned and pardoned
    // in turn, and none of its renewals acknowledged.
    if (const auto renewed = renewed_at_.find(id); renewed != renewed_at_.end()) {
      due = std::max(due, renewed->second + config_.condemn_after);
    }
    entry::Condemn condemn{id, {}};
    for (const Token& token : state_.tokens_on(id)) {
      const Attempt* attempt = state_.attempt(token);
      if (!attempt->keep && attempt->find(id)->condemned == LogIndex()) {
        condemn.tokens.push_back(token);
      }
    }
    if (condemn.tokens.empty()) {
      continue;
    }
    if (now < due) {
      wake_at(due);
      continue;
    }
    propose(now, condemn);
  }
}

void Scheduler::expire_due(Instant now) {
  for (const auto& [key, timer] : expire_timers_.all()) {
    if (timer.due <= now) {
      propose(now, entry::Expire{key.second, key.first, timer.condemn});
    } else {
      wake_at(timer.due);
    }
  }
}

void Scheduler::tick_cluster_time(Instant now) {
  if (!state_.needs_time()) {
    last_tick_ = now;
    return;
  }
  if (now < last_tick_ + config_.tick_every) {
    return;
  }
  const Duration elapsed = std::min<Duration>(now - last_tick_, kTickMax);
  if (propose(now, entry::Tick{elapsed})) {
    last_tick_ = now;
  }
}

}  // namespace muster::scheduler
