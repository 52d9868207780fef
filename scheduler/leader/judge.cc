#include "scheduler/leader/judge.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string>

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
Cause loss_of(const Turn& turn, const Attempt& attempt) {
  Cause loss = Cause::kHostLost;
  for (const MemberRecord& record : attempt.members) {
    const HostRecord* host = turn.state.host(record.member.host);
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
  wanted.quarantined = record.quarantined;
  wanted.shortage = view.shortage;
  const bool same = wanted.start == record.seen && wanted.verdict == record.verdict &&
                    wanted.health == record.health && wanted.shortage == record.shortage &&
                    wanted.unhealthy_gpus == record.unhealthy_gpus;
  return same ? std::nullopt : std::optional(wanted);
}

}  // namespace

Judge::Judge(const Turn& turn) : ready_since_(turn.now), last_tick_(turn.now), wake_(turn.now) {
  for (const auto& [host, record] : turn.state.hosts()) {
    look_at(turn, host);
  }
}

bool Judge::on_touched(const Turn& turn, const Token& token) {
  unjudged_.insert(token);
  const Attempt* attempt = turn.state.attempt(token);
  if (attempt != nullptr && attempt->state == AttemptState::kReserved) {
    reserved_since_.try_emplace(token, turn.now);
    return false;
  }
  return reserved_since_.erase(token) != 0;
}

void Judge::on_applied(const Turn& turn, const Entry& entry, const ApplyResult& result) {
  placing_.on_applied(turn, entry, result);
  if (const auto* registered = std::get_if<entry::Register>(&entry)) {
    look_at(turn, registered->host);
  } else if (const auto* observed = std::get_if<entry::Observe>(&entry)) {
    look_at(turn, observed->host);
    unjudged_hosts_.insert(observed->host);
    const std::vector<Token> tokens = turn.state.tokens_on(observed->host);
    unjudged_.insert(tokens.begin(), tokens.end());
  } else if (std::holds_alternative<entry::Tick>(entry) ||
             std::holds_alternative<entry::Drain>(entry)) {
    wake_at(turn.now);
  }
}

void Judge::on_voters_quiet(Instant now) {
  wake_at(now);
  placing_.want();
}

void Judge::wake_at(Instant when) {
  wake_ = std::min(wake_, when);
}

void Judge::decide(const Turn& turn, Proposals& proposals, const AgentDesk& desk) {
  const bool woken = turn.now >= std::min(wake_, proposals.next_look());
  if (woken) {
    wake_ = kNever;
    unjudged_.insert(turn.state.live().begin(), turn.state.live().end());
    const std::set<HostId>& unreachable = turn.state.host_lists().unreachable();
    unjudged_hosts_.insert(unreachable.begin(), unreachable.end());
    if (proposals.forget_lost(turn.now)) {
      placing_.settle_lost(turn, proposals);
    }
  }
  observe_hosts(turn, proposals);
  judge_attempts(turn, proposals);
  if (woken) {
    requeue_drained(turn, proposals);
  }
  judge_hosts(turn, proposals, desk);
  if (woken) {
    expire_due(turn, proposals);
  }
  wake_at(placing_.place(turn, proposals, unobserved_));
  tick_cluster_time(turn, proposals);
}

Duration Judge::tick_period(const SchedulerConfig& config, const State& state) {
  return state.needs_time() ? config.tick_every : config.tick_for_tickets;
}

Instant Judge::next_deadline(const SchedulerConfig& config, const State& state,
                             const Proposals& proposals) const {
  const Instant look = std::min(wake_, proposals.next_look());
  if (!state.needs_time() && !state.has_open_ticket()) {
    return look;
  }
  return std::min(look, std::max(last_tick_ + tick_period(config, state),
                                 proposals.free_at(proposal_name(entry::Tick()))));
}

void Judge::observe_hosts(const Turn& turn, Proposals& proposals) {
  std::size_t count = 0;
  for (auto host = unobserved_.begin(); host != unobserved_.end();) {
    const HostRecord* record = turn.state.host(*host);
    const std::optional<entry::Observe> wanted =
        record == nullptr ? std::nullopt : wanted_observe(turn.seen, *record);
    if (!wanted.has_value()) {
      placing_.allow_again(turn, *host);
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
    proposals.propose(turn, *wanted);
    ++host;
  }
}

/// A host that is still to be observed gets no decision.
void Judge::look_at(const Turn& turn, const HostId& host) {
  unobserved_.insert(host);
  turn.capacity.bar(turn.state, host, true);
}

void Judge::judge_attempts(const Turn& turn, Proposals& proposals) {
  std::set<Token> tokens;
  tokens.swap(unjudged_);
  for (const Token& token : tokens) {
    const Attempt* attempt = turn.state.attempt(token);
    const Job* job = attempt == nullptr ? nullptr : turn.state.job(attempt->job);
    if (job == nullptr) {
      continue;
    }
    if (attempt->state == AttemptState::kReserved) {
      judge_reserved(turn, proposals, *attempt, *job);
    } else if (attempt->state == AttemptState::kStarted) {
      const Cause cause = stop_cause(turn, *attempt, *job);
      if (cause != Cause::kNone) {
        proposals.propose(turn, entry::Stop{token, cause});
      } else if (const Cause loss = lost_past_patience(turn, *attempt, *job); is_loss(loss)) {
        evict(turn, proposals, entry::Stop{token, loss});
      }
    }
  }
}

/// Whether the gang fits on what is free and what it holds itself, `gone` left out.
bool Judge::fits_without(const Turn& turn, const HostId& gone, const Attempt& attempt,
                         const Job& job) const {
  const HostRecord* host = turn.state.host(gone);
  if (host == nullptr || shape_of(job).pack != Pack::kAny) {
    return false;  // GPUs free elsewhere need not be close to those it holds.
  }
  std::size_t count = turn.capacity.free_for(job, host->gpu_type, std::span(&gone, 1));
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
HostId Judge::gone_member(const Turn& turn, const Attempt& attempt) {
  if (turn.state.host_lists().are_all_well() && !turn.seen.is_any_late()) {
    return HostId();
  }
  return unready_member(attempt, [&](const HostId& id) {
    const HostRecord* host = turn.state.host(id);
    return turn.seen.is_late(id) ||
           (host != nullptr && (!host->is_reachable() || host->health == Health::kDegraded));
  });
}

void Judge::judge_reserved(const Turn& turn, Proposals& proposals, const Attempt& attempt,
                           const Job& job) {
  if (const Cause ordered = ordered_cause(job); ordered != Cause::kNone) {
    proposals.propose(turn, entry::Abort{attempt.token, ordered, HostId()});
    return;
  }
  if (attempt.all_ready()) {
    proposals.propose(turn, entry::Start{attempt.token});
    return;
  }
  const HostId gone = gone_member(turn, attempt);
  if (!gone.is_zero() && fits_without(turn, gone, attempt, job)) {
    // To wait would not help, and elsewhere the gang starts at once.
    proposals.propose(turn, entry::Abort{attempt.token, Cause::kDeadline, gone});
    return;
  }
  const Instant due = reserved_since_.at(attempt.token) + attempt.deadline;
  // Each leader counts again, but not for ever: all leaders share the cluster time.
  const bool counted_out =
      turn.state.cluster_time() - attempt.reserved_at >=
      attempt.deadline * static_cast<std::int64_t>(turn.config.deadline_counts);
  if (turn.now < due && !counted_out) {
    wake_at(due);
    return;
  }
  const HostId late = unready_member(attempt, [](const HostId&) { return true; });
  proposals.propose(turn, entry::Abort{attempt.token, Cause::kDeadline, late});
}

Cause Judge::stop_cause(const Turn& turn, const Attempt& attempt, const Job& job) {
  if (attempt.has_failed_member()) {
    // Ranks that only Muster's signals ended were stopped by a lapsed hold: the host was cut off.
    return attempt.program_failure() != nullptr ? Cause::kRankFailed : loss_of(turn, attempt);
  }
  if (const Cause ordered = ordered_cause(job); ordered != Cause::kNone) {
    return ordered;
  }
  const Duration ran = turn.state.cluster_time() - attempt.started_at;
  if (job.spec.limits.time_limit > Duration::zero() && ran >= job.spec.limits.time_limit) {
    return Cause::kTimeLimit;
  }
  return Cause::kNone;
}

Instant Judge::unreachable_since(const Turn& turn, const HostId& host) const {
  // A new leader counts its patience again: it has not watched longer than it leads.
  return std::max(turn.seen.since(host).value_or(ready_since_), ready_since_);
}

/// An attempt none of whose ranks is reachable is never stopped by silence: it may be running well.
/// kNone: the attempt goes on.
Cause Judge::lost_past_patience(const Turn& turn, const Attempt& attempt, const Job& job) {
  if (job.spec.retry.on_lost_host == OnLostHost::kWait) {
    return Cause::kNone;
  }
  Cause loss = Cause::kNone;
  bool some_reachable = false;
  for (const MemberRecord& record : attempt.members) {
    const HostRecord* host = turn.state.host(record.member.host);
    if (record.end != MemberEnd::kNone || host == nullptr) {
      continue;
    }
    if (host->is_reachable()) {
      some_reachable = true;
      continue;
    }
    const bool silent = host->verdict == Verdict::kSilent;
    const Instant due = unreachable_since(turn, host->id) +
                        (silent ? job.spec.limits.patience : turn.config.agent_down_patience);
    if (turn.now >= due && loss != Cause::kHostLost) {
      loss = host->verdict == Verdict::kRefused ? Cause::kAgentDown : Cause::kHostLost;
    }
    if (turn.now < due) {
      wake_at(due);
    }
  }
  return some_reachable ? loss : Cause::kNone;
}

/// Proposes an end by silence, if the pace of evictions allows one more now.
void Judge::evict(const Turn& turn, Proposals& proposals, const Entry& entry) {
  const bool is_cut = turn.seen.storm() == StormMode::kPartitionSuspected &&
                      !mutant(SchedulerMutant::kEvictInStorm);
  if (is_cut || proposals.free_at(proposal_name(entry)) > turn.now) {
    return;  // It is looked at again when that is over.
  }
  const std::int64_t a_second =
      turn.seen.storm() == StormMode::kPartial ? kEvictionsASecondPartial : kEvictionsASecond;
  if (turn.now < evictions_.ready_at(a_second)) {
    wake_at(evictions_.ready_at(a_second));
    return;
  }
  evictions_.take(turn.now, a_second);
  proposals.propose(turn, entry);
}

/// Requeues the attempts left on hosts whose drain has passed its deadline.
void Judge::requeue_drained(const Turn& turn, Proposals& proposals) {
  for (const HostId& id : turn.state.host_lists().drained()) {
    const HostRecord& record = *turn.state.host(id);
    const std::optional<HostDrain>& drain = record.drain;
    if (!drain->requeues || turn.state.cluster_time() < drain->requeue_at) {
      continue;
    }
    for (const Token& token : turn.state.tokens_on(id)) {
      const Attempt* attempt = turn.state.attempt(token);
      const Job* job = turn.state.job(attempt->job);
      const bool may_go_on =
          attempt->state == AttemptState::kReserved || attempt->state == AttemptState::kStarted;
      if (job != nullptr && may_go_on && job->life.current == token &&
          job->order_in_force() == JobOrder::kNone) {
        proposals.propose(
            turn, entry::Requeue{job->id, attempt->number, "the drain of host " + record.name});
      }
    }
  }
}

void Judge::judge_hosts(const Turn& turn, Proposals& proposals, const AgentDesk& desk) {
  std::set<HostId> hosts;
  hosts.swap(unjudged_hosts_);
  for (const HostId& host : hosts) {
    const HostRecord* record = turn.state.host(host);
    if (record != nullptr && !record->is_reachable()) {
      judge_host(turn, proposals, desk, *record);
    }
  }
}

void Judge::judge_host(const Turn& turn, Proposals& proposals, const AgentDesk& desk,
                       const HostRecord& record) {
  // An agent that is down renews as little as one that is silent, and the sooner its time runs the
  // sooner its GPUs are free; one that is started again in time is pardoned.
  Instant due = unreachable_since(turn, record.id) + turn.config.condemn_after;
  // Others may not hear it for long though it is heard here: it would be condemned and pardoned in
  // turn, and none of its renewals acknowledged.
  if (const std::optional<Instant> renewed = desk.renewed_at(record.id)) {
    due = std::max(due, *renewed + turn.config.condemn_after);
  }
  entry::Condemn condemn{record.id, {}};
  for (const Token& token : turn.state.tokens_on(record.id)) {
    const Attempt* attempt = turn.state.attempt(token);
    if (!attempt->keep && attempt->find(record.id)->condemned == LogIndex()) {
      condemn.tokens.push_back(token);
    }
  }
  if (condemn.tokens.empty()) {
    return;
  }
  if (turn.now < due) {
    wake_at(due);
    return;
  }
  evict(turn, proposals, condemn);
}

void Judge::expire_due(const Turn& turn, Proposals& proposals) {
  for (const auto& [key, timer] : turn.expire_timers.all()) {
    if (timer.due <= turn.now) {
      proposals.propose(turn, entry::Expire{key.second, key.first, timer.condemn});
    } else {
      wake_at(timer.due);
    }
  }
}

void Judge::tick_cluster_time(const Turn& turn, Proposals& proposals) {
  const bool is_seldom = !turn.state.needs_time();
  const bool stands_still = is_seldom && !turn.state.has_open_ticket();
  if (stands_still || (ticks_seldom_ && !is_seldom)) {
    last_tick_ = turn.now;  // Time that passed before there was work does not count.
  }
  ticks_seldom_ = is_seldom;
  if (stands_still || turn.now < last_tick_ + tick_period(turn.config, turn.state)) {
    return;
  }
  const Duration elapsed = std::min<Duration>(turn.now - last_tick_, kTickMax);
  if (proposals.propose(turn, entry::Tick{elapsed})) {
    last_tick_ = turn.now;
  }
}

}  // namespace muster::scheduler
