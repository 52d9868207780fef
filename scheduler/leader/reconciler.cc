#include "scheduler/leader/reconciler.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string>

#include "scheduler/policy/owed_waits.h"
#include "scheduler/protocol/mutants.h"

namespace muster::scheduler {
namespace {

/// The first host of the gang that is not ready and for which `is_meant` holds; else zero.
template <class Predicate>
HostId unready_member(const Attempt& attempt, Predicate is_meant) {
  for (const MemberRecord& record : attempt.members) {
    if (!record.ready && is_meant(record.member.host)) {
      return record.member.host;
    }
  }
  return HostId();
}

/// The order of an operator about the job, as a cause to end the attempt.
Cause ordered_cause(const Job& job) {
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

/// The cause of an end that no failure of a program explains.
Cause loss_of(const StepContext& step, const Attempt& attempt) {
  Cause loss = Cause::kHostLost;
  for (const MemberRecord& record : attempt.members) {
    const HostRecord* host = step.state.host(record.member.host);
    if (record.end == MemberEnd::kFinished && record.has_lost_rank()) {
      return Cause::kRanksLost;
    }
    const bool is_agents = host != nullptr && host->verdict == Verdict::kRefused;
    loss = record.end == MemberEnd::kExpired && is_agents ? Cause::kAgentDown : loss;
  }
  return loss;
}

/// The Observe of a host that this leader sees otherwise than the log. nullopt if they agree.
std::optional<entry::Observe> wanted_observe(const SeenHosts& seen, const HostRecord& record) {
  const HostView* known = seen.view(record.id);
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
  wanted.shortage = view.shortage;
  const bool same = wanted.start == record.seen && wanted.verdict == record.verdict &&
                    wanted.health == record.health && wanted.shortage == record.shortage &&
                    wanted.unhealthy_gpus == record.unhealthy_gpus;
  return same ? std::nullopt : std::optional(wanted);
}

}  // namespace

Reconciler::Reconciler(const StepContext& step)
    : ready_since_(step.now), wake_(step.now), next_starving_(step.now + kStarvingLookEvery) {
  for (const auto& [host, record] : step.state.hosts()) {
    look_at(step, host);
  }
}

bool Reconciler::on_touched(const StepContext& step, const Token& token) {
  changed_attempts_.insert(token);
  const Attempt* attempt = step.state.attempt(token);
  if (attempt == nullptr || attempt->state != AttemptState::kStarted) {
    told_near_.erase(token);
  }
  if (attempt != nullptr && attempt->state == AttemptState::kReserved) {
    reserved_since_.try_emplace(token, step.now);
    return false;
  }
  return reserved_since_.erase(token) != 0;
}

void Reconciler::on_applied(const StepContext& step, const Entry& entry,
                            const ApplyResult& result) {
  placing_.on_applied(step, entry, result);
  if (const auto* registered = std::get_if<entry::Register>(&entry)) {
    look_at(step, registered->host);
  } else if (const auto* observed = std::get_if<entry::Observe>(&entry)) {
    look_at(step, observed->host);
    changed_hosts_.insert(observed->host);
    const std::vector<Token> tokens = step.state.tokens_on(observed->host);
    changed_attempts_.insert(tokens.begin(), tokens.end());
  } else if (std::holds_alternative<entry::Tick>(entry) ||
             std::holds_alternative<entry::Drain>(entry)) {
    wake_at(step.now);
  }
}

void Reconciler::on_voters_quiet(Instant now) {
  wake_at(now);
  placing_.want();
}

void Reconciler::wake_at(Instant when) {
  wake_ = std::min(wake_, when);
}

void Reconciler::decide(const StepContext& step, Proposals& proposals, const AgentDesk& desk) {
  const bool woken = step.now >= std::min(wake_, proposals.next_look());
  if (woken) {
    wake_ = kNever;
    changed_attempts_.insert(step.state.live().begin(), step.state.live().end());
    const std::set<HostId>& unreachable = step.state.host_lists().unreachable();
    changed_hosts_.insert(unreachable.begin(), unreachable.end());
    if (proposals.forget_lost(step.now)) {
      placing_.settle_lost(step, proposals);
    }
  }
  observe_hosts(step, proposals);
  reconcile_attempts(step, proposals);
  if (woken) {
    requeue_drained(step, proposals);
  }
  reconcile_hosts(step, proposals, desk);
  if (woken) {
    expire_due(step, proposals);
  }
  wake_at(placing_.place(step, proposals, unobserved_));
  if (woken) {
    tell_starving(step);
  }
}

void Reconciler::observe_hosts(const StepContext& step, Proposals& proposals) {
  std::size_t count = 0;
  for (auto host = unobserved_.begin(); host != unobserved_.end();) {
    const HostRecord* record = step.state.host(*host);
    const std::optional<entry::Observe> wanted =
        record == nullptr ? std::nullopt : wanted_observe(step.seen, *record);
    if (!wanted.has_value()) {
      placing_.allow_again(step, *host);
      host = unobserved_.erase(host);
      continue;
    }
    if (proposals.is_registering(*host)) {
      ++host;
      continue;
    }
    if (++count > kObservesMax) {
      break;
    }
    proposals.propose(step, *wanted);
    ++host;
  }
}

/// A host that is still to be observed gets no decision.
void Reconciler::look_at(const StepContext& step, const HostId& host) {
  unobserved_.insert(host);
  step.capacity.bar(step.state, host, true);
}

void Reconciler::reconcile_attempts(const StepContext& step, Proposals& proposals) {
  std::set<Token> tokens;
  tokens.swap(changed_attempts_);
  for (const Token& token : tokens) {
    const Attempt* attempt = step.state.attempt(token);
    const Job* job = attempt == nullptr ? nullptr : step.state.job(attempt->job);
    if (job == nullptr) {
      continue;
    }
    if (attempt->state == AttemptState::kReserved) {
      reconcile_reserved(step, proposals, *attempt, *job);
    } else if (attempt->state == AttemptState::kStarted) {
      const Cause cause = stop_cause(step, *attempt, *job);
      if (cause != Cause::kNone) {
        proposals.propose(step, entry::Stop{token, cause});
      } else if (const Cause loss = lost_past_patience(step, *attempt, *job); is_loss(loss)) {
        evict(step, proposals, entry::Stop{token, loss});
      } else {
        tell_limit_near(step, *attempt, *job);
      }
    }
  }
}

/// Whether the gang fits on what is free and what it holds itself, `gone` left out.
bool Reconciler::fits_without(const StepContext& step, const HostId& gone, const Attempt& attempt,
                              const Job& job) const {
  const HostRecord* host = step.state.host(gone);
  if (host == nullptr || shape_of(job).pack != Pack::kAny) {
    return false;  // GPUs free elsewhere need not be close to those it holds.
  }
  std::size_t count = step.capacity.free_for(job, host->gpu_type, std::span(&gone, 1));
  for (const MemberRecord& record : attempt.members) {
    const HostId& member = record.member.host;
    const bool is_left_out = std::any_of(job.life.left_out.begin(), job.life.left_out.end(),
                                         [&](const LeftOut& out) { return out.host == member; });
    count += member == gone || is_left_out ? 0
             : job.spec.request.gpus == 0  ? record.member.ranks
                                           : record.member.gpus.size();
  }
  return count >= job.spec.request.units();
}

/// The first member that is not ready and will hardly be; zero if there is no such member. Most
/// often all hosts are well.
HostId Reconciler::gone_member(const StepContext& step, const Attempt& attempt) {
  if (step.state.host_lists().are_all_well() && !step.seen.is_any_late()) {
    return HostId();
  }
  return unready_member(attempt, [&](const HostId& id) {
    const HostRecord* host = step.state.host(id);
    return step.seen.is_late(id) ||
           (host != nullptr && (!host->is_reachable() || host->health == Health::kDegraded));
  });
}

void Reconciler::reconcile_reserved(const StepContext& step, Proposals& proposals,
                                    const Attempt& attempt, const Job& job) {
  if (const Cause ordered = ordered_cause(job); ordered != Cause::kNone) {
    proposals.propose(step, entry::Abort{attempt.token, ordered, HostId()});
    return;
  }
  if (attempt.all_ready()) {
    proposals.propose(step, entry::Start{attempt.token});
    return;
  }
  const HostId gone = gone_member(step, attempt);
  if (!gone.is_zero() && fits_without(step, gone, attempt, job)) {
    // To wait would not help, and elsewhere the gang starts at once.
    proposals.propose(step, entry::Abort{attempt.token, Cause::kDeadline, gone});
    return;
  }
  const Instant due = reserved_since_.at(attempt.token) + attempt.deadline;
  // Each leader counts again, but not for ever: all leaders share the cluster time.
  const bool counted_out =
      step.state.cluster_time() - attempt.reserved_at >=
      attempt.deadline * static_cast<std::int64_t>(step.config.deadline_counts);
  if (step.now < due && !counted_out) {
    wake_at(due);
    return;
  }
  const HostId late = unready_member(attempt, [](const HostId&) { return true; });
  proposals.propose(step, entry::Abort{attempt.token, Cause::kDeadline, late});
}

Cause Reconciler::stop_cause(const StepContext& step, const Attempt& attempt, const Job& job) {
  if (attempt.has_failed_member()) {
    // Ranks that only Muster's signals ended were stopped by a lapsed hold: the host was cut off.
    return attempt.program_failure() != nullptr ? Cause::kRankFailed : loss_of(step, attempt);
  }
  if (const Cause ordered = ordered_cause(job); ordered != Cause::kNone) {
    return ordered;
  }
  if (step.state.preemptions().of_victim(attempt.token) != nullptr) {
    return Cause::kPreempted;
  }
  const Duration ran = step.state.cluster_time() - attempt.started_at;
  if (job.spec.limits.time_limit > Duration::zero() && ran >= job.spec.limits.time_limit) {
    return Cause::kTimeLimit;
  }
  return Cause::kNone;
}

/// Once for each attempt that it sees past most of its limit.
void Reconciler::tell_limit_near(const StepContext& step, const Attempt& attempt, const Job& job) {
  const Duration limit = job.spec.limits.time_limit;
  const Duration ran = step.state.cluster_time() - attempt.started_at;
  if (limit == Duration::zero() || ran < limit / 100 * kLimitNearPercent) {
    told_near_.erase(attempt.token);  // A limit that was extended comes near again.
    return;
  }
  if (!told_near_.insert(attempt.token).second) {
    return;
  }
  step.output.emit(Severity::kInfo, "time_limit_near",
                   {{"job", text_of(job.id)},
                    {"token", attempt.token.text()},
                    {"left_ms", std::to_string(to_ms(limit - ran))}});
}

/// Once for each job of a queue that is owed some of its guarantee.
void Reconciler::tell_starving(const StepContext& step) {
  if (step.state.pending() == 0 || !step.state.queues().is_set()) {
    return;  // There is no guarantee.
  }
  if (step.now < next_starving_) {
    wake_at(next_starving_);
    return;
  }
  next_starving_ = step.now + kStarvingLookEvery;
  wake_at(next_starving_);
  std::erase_if(told_starving_, [&](JobId id) {
    const Job* job = step.state.job(id);
    return job == nullptr || job->has_ended();
  });
  const std::vector<OwedWait> waits =
      owed_waits(step.state, step.capacity, step.pending.queue(), step.unix_ms, kStarvingAfter);
  // The lowest queue first: those above it are owed for its sake.
  for (auto wait = waits.rbegin(); wait != waits.rend(); ++wait) {
    if (told_starving_.insert(wait->job).second) {
      step.output.emit(Severity::kWarn, "starving",
                       {{"queue", step.state.queues().at(wait->queue).node.path},
                        {"job", text_of(wait->job)},
                        {"why", owed_text(step.state, step.capacity, *wait)}});
    }
  }
}

Instant Reconciler::unreachable_since(const StepContext& step, const HostId& host) const {
  // A new leader counts its patience again: it has not watched longer than it leads.
  return std::max(step.seen.since(host).value_or(ready_since_), ready_since_);
}

/// An attempt none of whose ranks is reachable is never stopped by silence: it may be running well.
/// kNone: the attempt goes on.
Cause Reconciler::lost_past_patience(const StepContext& step, const Attempt& attempt,
                                     const Job& job) {
  if (job.spec.retry.on_lost_host == OnLostHost::kWait) {
    return Cause::kNone;
  }
  Cause loss = Cause::kNone;
  bool some_reachable = false;
  for (const MemberRecord& record : attempt.members) {
    const HostRecord* host = step.state.host(record.member.host);
    if (record.end != MemberEnd::kNone || host == nullptr) {
      continue;
    }
    if (host->is_reachable()) {
      some_reachable = true;
      continue;
    }
    const bool silent = host->verdict == Verdict::kSilent;
    const Instant due = unreachable_since(step, host->id) +
                        (silent ? job.spec.limits.patience : step.config.agent_down_patience);
    if (step.now >= due && loss != Cause::kHostLost) {
      loss = host->verdict == Verdict::kRefused ? Cause::kAgentDown : Cause::kHostLost;
    }
    if (step.now < due) {
      wake_at(due);
    }
  }
  return some_reachable ? loss : Cause::kNone;
}

/// Proposes an end by silence, if the pace of evictions allows one more now.
void Reconciler::evict(const StepContext& step, Proposals& proposals, const Entry& entry) {
  const bool is_cut = step.seen.storm() == StormMode::kPartitionSuspected &&
                      !mutant(SchedulerMutant::kEvictInStorm);
  if (is_cut || proposals.free_at(proposal_name(entry)) > step.now) {
    return;  // It is looked at again when that is over.
  }
  const std::int64_t a_second =
      step.seen.storm() == StormMode::kPartial ? kEvictionsASecondPartial : kEvictionsASecond;
  if (step.now < evictions_.ready_at(a_second)) {
    wake_at(evictions_.ready_at(a_second));
    return;
  }
  evictions_.take(step.now, a_second);
  proposals.propose(step, entry);
}

/// Requeues the attempts left on hosts whose drain has passed its deadline.
void Reconciler::requeue_drained(const StepContext& step, Proposals& proposals) {
  for (const HostId& id : step.state.host_lists().drained()) {
    const HostRecord& record = *step.state.host(id);
    const std::optional<HostDrain>& drain = record.drain;
    if (!drain->requeues || step.state.cluster_time() < drain->requeue_at) {
      continue;
    }
    for (const Token& token : step.state.tokens_on(id)) {
      const Attempt* attempt = step.state.attempt(token);
      const Job* job = step.state.job(attempt->job);
      const bool may_go_on =
          attempt->state == AttemptState::kReserved || attempt->state == AttemptState::kStarted;
      if (job != nullptr && may_go_on && job->life.current == token &&
          job->order_in_force() == JobOrder::kNone) {
        proposals.propose(
            step, entry::Requeue{job->id, attempt->number, "the drain of host " + record.name});
      }
    }
  }
}

void Reconciler::reconcile_hosts(const StepContext& step, Proposals& proposals,
                                 const AgentDesk& desk) {
  std::set<HostId> hosts;
  hosts.swap(changed_hosts_);
  for (const HostId& host : hosts) {
    const HostRecord* record = step.state.host(host);
    if (record != nullptr && !record->is_reachable()) {
      reconcile_host(step, proposals, desk, *record);
    }
  }
}

void Reconciler::reconcile_host(const StepContext& step, Proposals& proposals,
                                const AgentDesk& desk, const HostRecord& record) {
  // An agent that is down renews as little as one that is silent, and the sooner its time runs the
  // sooner its GPUs are free; one that is started again in time is pardoned.
  Instant due = unreachable_since(step, record.id) + step.config.condemn_after;
  // Others may not hear it for long though it is heard here: it would be condemned and pardoned in
  // turn, and none of its renewals acknowledged.
  if (const std::optional<Instant> renewed = desk.renewed_at(record.id)) {
    due = std::max(due, *renewed + step.config.condemn_after);
  }
  entry::Condemn condemn{record.id, {}};
  for (const Token& token : step.state.tokens_on(record.id)) {
    const Attempt* attempt = step.state.attempt(token);
    if (!attempt->keep && attempt->find(record.id)->condemned == LogIndex()) {
      condemn.tokens.push_back(token);
    }
  }
  if (condemn.tokens.empty()) {
    return;
  }
  if (step.now < due) {
    wake_at(due);
    return;
  }
  evict(step, proposals, condemn);
}

void Reconciler::expire_due(const StepContext& step, Proposals& proposals) {
  for (const auto& [key, timer] : step.expire_timers.all()) {
    if (timer.due <= step.now) {
      proposals.propose(step, entry::Expire{key.second, key.first, timer.condemn});
    } else {
      wake_at(timer.due);
    }
  }
}

}  // namespace muster::scheduler
