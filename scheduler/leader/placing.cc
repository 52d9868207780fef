#include "scheduler/leader/placing.h"

#include <optional>
#include <utility>
#include <variant>

namespace muster::scheduler {

void Placing::on_applied(const Turn& turn, const Entry& entry, const ApplyResult& result) {
  is_wanted_ = is_wanted_ || result.capacity_changed;
  if (const auto* decided = std::get_if<entry::Decide>(&entry)) {
    settle(turn, decided->job);
  }
}

void Placing::allow_again(const Turn& turn, const HostId& host) {
  turn.capacity.bar(turn.state, host, quiet_.contains(host));
  is_wanted_ = true;
}

/// The Decide of the job is in the log, or counts as lost.
void Placing::settle(const Turn& turn, JobId job) {
  turn.capacity.settle(turn.state, job);
  turn.pending.show(job);
  is_wanted_ = true;
}

void Placing::settle_lost(const Turn& turn, const Proposals& proposals) {
  for (const JobId job : turn.capacity.asked()) {
    entry::Decide fact;
    fact.job = job;
    if (proposals.free_at(proposal_name(fact)) <= turn.now) {
      settle(turn, job);
    }
  }
  is_wanted_ = true;
}

Instant Placing::place(const Turn& turn, Proposals& proposals, const std::set<HostId>& unobserved) {
  bar_quiet_voters(turn, unobserved);
  if (!is_wanted_ || turn.state.awaits_hosts()) {
    return kNever;
  }
  is_wanted_ = false;
  wake_pending(turn);
  for (std::optional<JobId> first = turn.pending.first();
       first.has_value() && turn.capacity.asked_count() < kDecidesMax;
       first = turn.pending.first()) {
    const Job& job = *turn.state.job(*first);
    if (turn.pending.is_blocked(job.id)) {
      return kNever;
    }
    std::optional<Placement> placement = turn.capacity.place(turn.state, job);
    if (!placement.has_value() && turn.capacity.could_hold(job)) {
      turn.pending.block(job.id);
      return kNever;
    }
    if (!placement.has_value()) {
      turn.pending.set_aside(job.id);  // It is first again when its hosts are back.
      continue;
    }
    if (!may_begin(turn, job)) {
      is_wanted_ = true;
      return retries_.ready_at(kRetriesASecondInStorm);
    }
    entry::Decide fact;
    fact.job = job.id;
    fact.attempt = job.life.attempts + 1;
    fact.hold = hold_of(job.spec, placement->members.size());
    fact.grace = job.spec.limits.grace;
    fact.deadline = turn.config.reserve_deadline;
    turn.pending.hide(job.id);
    turn.capacity.ask(turn.state, fact.job, *placement);
    fact.members = std::move(placement->members);
    proposals.propose(turn, std::move(fact));
  }
  return kNever;
}

void Placing::bar_quiet_voters(const Turn& turn, const std::set<HostId>& unobserved) {
  if (quiet_ == turn.seen.quiet()) {
    return;
  }
  std::set<HostId> before = turn.seen.quiet();
  quiet_.swap(before);
  for (const HostId& host : before) {
    turn.capacity.bar(turn.state, host, quiet_.contains(host) || unobserved.contains(host));
  }
  for (const HostId& host : quiet_) {
    turn.capacity.bar(turn.state, host, true);
  }
}

/// Tries again the jobs that can use freed GPUs.
void Placing::wake_pending(const Turn& turn) {
  turn.pending.wake_alone();
  const auto gains = turn.capacity.take_gains();
  if (!gains.has_value()) {
    turn.pending.reopen();
    return;
  }
  for (const auto& [kind, space] : *gains) {
    turn.pending.wake(kind, space);
  }
}

bool Placing::may_begin(const Turn& turn, const Job& job) {
  if (job.life.attempts == 0 || turn.seen.storm() <= StormMode::kDomain) {
    return true;
  }
  if (turn.now < retries_.ready_at(kRetriesASecondInStorm)) {
    return false;
  }
  retries_.take(turn.now, kRetriesASecondInStorm);
  return true;
}

}  // namespace muster::scheduler
