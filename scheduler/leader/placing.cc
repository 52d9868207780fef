#include "scheduler/leader/placing.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "scheduler/state/charge.h"

namespace muster::scheduler {

namespace {

/// The label of a host that runs programs of its site before it is ready for a grant, with the
/// seconds that they may take there.
constexpr std::string_view kPrologLabel = "prolog=";
/// Of that number: a label can be written by hand.
constexpr std::int64_t kPrologSecondsMax = 3600;

Duration prolog_time(const HostRecord& host) {
  Duration longest(0);
  for (const std::string& label : host.traits.labels) {
    if (label.starts_with(kPrologLabel)) {
      const char* const end = label.data() + label.size();
      std::int64_t seconds = 0;
      std::from_chars(label.data() + kPrologLabel.size(), end, seconds);
      longest = std::max<Duration>(
          longest, std::chrono::seconds(std::clamp<std::int64_t>(seconds, 0, kPrologSecondsMax)));
    }
  }
  return longest;
}

/// Of all hosts of the gang, which prepare beside each other.
Duration longest_prolog(const StepContext& step, const Placement& placement) {
  Duration longest(0);
  for (const Member& member : placement.members) {
    const HostRecord* host = step.state.host(member.host);
    longest = host == nullptr ? longest : std::max(longest, prolog_time(*host));
  }
  return longest;
}

Duration deadline_of(const StepContext& step, const Placement& placement) {
  return step.config.reserve_deadline + longest_prolog(step, placement);
}

/// The pool that the job is charged to. All hosts of a gang are of one type.
std::string pool_of(const StepContext& step, const Job& job, const Placement& placement) {
  return pool_on(*step.state.host(placement.members.front().host), job.spec);
}

std::uint64_t charge_of(const StepContext& step, const Placement& placement) {
  std::uint64_t charge = 0;
  for (const Member& member : placement.members) {
    charge += charge_of(*step.state.host(member.host), member);
  }
  return charge;
}

}  // namespace

void Placing::on_applied(const StepContext& step, const Entry& entry, const ApplyResult& result) {
  is_wanted_ = is_wanted_ || result.capacity_changed || result.queues_changed ||
               result.credits_changed || !result.shares_changed.empty();
  if (result.capacity_changed && std::holds_alternative<entry::Tick>(entry)) {
    step.pending.reopen_alone();  // A host may have been left out for long enough.
  }
  if (const auto* decided = std::get_if<entry::Decide>(&entry)) {
    settle(step, decided->job);
  }
  is_wanted_ = is_wanted_ || kept_.is_due(step.state);
}

void Placing::allow_again(const StepContext& step, const HostId& host) {
  step.capacity.bar(step.state, host, quiet_.contains(host));
  is_wanted_ = true;
}

/// The Decide of the job is in the log, or counts as lost.
void Placing::settle(const StepContext& step, JobId job) {
  step.capacity.settle(step.state, job);
  step.pending.show(job);
  is_wanted_ = true;
}

void Placing::settle_lost(const StepContext& step, const Proposals& proposals) {
  for (const JobId job : step.capacity.asked()) {
    entry::Decide fact;
    fact.job = job;
    if (proposals.free_at(proposal_name(fact)) <= step.now) {
      settle(step, job);
    }
  }
  is_wanted_ = true;
}

Instant Placing::place(const StepContext& step, Proposals& proposals,
                       const std::set<HostId>& unobserved) {
  bar_quiet_voters(step, unobserved);
  if (!is_wanted_ || step.state.awaits_hosts()) {
    return kNever;
  }
  is_wanted_ = false;
  wake_pending(step);
  kept_.renew(step);
  Instant again = place_first(step, proposals);
  const bool is_done = again == kNever && step.capacity.asked_count() < kDecidesMax;
  if (is_done &&
      (kept_.drop_unoffered(step) || (step.config.backfill && kept_.plan_for_stuck(step)))) {
    again = place_first(step, proposals);  // Others may pass, or nobody may any more.
  }
  return again;
}

/// Proposes what fits, in order, until all pools wait. Returns when to go on; kNever: they wait.
Instant Placing::place_first(const StepContext& step, Proposals& proposals) {
  const std::uint64_t tries = step.capacity.tried() + kTriesMax;
  for (std::optional<Next> next = step.pending.next();
       next.has_value() && step.capacity.asked_count() < kDecidesMax; next = step.pending.next()) {
    if (step.capacity.tried() > tries) {
      is_wanted_ = true;
      return step.now;
    }
    const Job& job = *step.state.job(next->job);
    std::optional<Placement> placement = kept_.place(step, job, next->types);
    if (!placement.has_value() ||
        !kept_.allows(step, job, *placement, deadline_of(step, *placement))) {
      hold_back(step, job, next->types);
      continue;
    }
    const std::string pool = pool_of(step, job, *placement);
    const std::uint64_t charge = charge_of(step, *placement);
    if (charge > step.pending.room(job.id, pool)) {
      if (!step.pending.raise(job.id, pool, charge)) {
        step.pending.block(job.id, pool == kCpuPool ? std::span<const std::string>()
                                                    : std::span<const std::string>(&pool, 1));
      }
      continue;  // Its queue is at its max: others may pass it.
    }
    if (!may_begin(step, job)) {
      is_wanted_ = true;
      return retries_.ready_at(kRetriesASecondInStorm);
    }
    step.pending.hide(job.id, pool, charge);
    propose(step, proposals, job, std::move(*placement));
  }
  return kNever;
}

/// The job does not fit in the pools of these types: it waits there, or stands aside until its
/// hosts are back, or allowed.
void Placing::hold_back(const StepContext& step, const Job& job,
                        const std::vector<std::string>& types) {
  const auto hold_in = [&](std::span<const std::string> some) {
    if (step.capacity.could_hold(job, some)) {
      step.pending.block(job.id, some, kept_.is_kept_out(job.id));
    } else {
      step.pending.set_aside(job.id, some);
    }
  };
  if (types.empty()) {
    hold_in({});
  }
  for (const std::string& type : types) {
    hold_in({&type, 1});
  }
}

void Placing::propose(const StepContext& step, Proposals& proposals, const Job& job,
                      Placement placement) {
  entry::Decide fact;
  fact.job = job.id;
  fact.attempt = job.life.attempts + 1;
  fact.hold = hold_of(job.spec, placement.members.size());
  fact.grace = job.spec.limits.grace;
  fact.deadline = deadline_of(step, placement);
  step.capacity.ask(step.state, fact.job, placement);
  fact.members = std::move(placement.members);
  proposals.propose(step, std::move(fact));
}

void Placing::bar_quiet_voters(const StepContext& step, const std::set<HostId>& unobserved) {
  if (quiet_ == step.seen.quiet()) {
    return;
  }
  std::set<HostId> before = step.seen.quiet();
  quiet_.swap(before);
  for (const HostId& host : before) {
    step.capacity.bar(step.state, host, quiet_.contains(host) || unobserved.contains(host));
  }
  for (const HostId& host : quiet_) {
    step.capacity.bar(step.state, host, true);
  }
}

/// Tries again the jobs that can use freed GPUs.
void Placing::wake_pending(const StepContext& step) {
  step.pending.wake_alone();
  const auto gains = step.capacity.take_gains();
  if (!gains.has_value()) {
    step.pending.reopen();
    return;
  }
  for (const auto& [kind, space] : *gains) {
    step.pending.wake(kind, space);
  }
}

bool Placing::may_begin(const StepContext& step, const Job& job) {
  if (job.life.attempts == 0 || step.seen.storm() <= StormMode::kDomain) {
    return true;
  }
  if (step.now < retries_.ready_at(kRetriesASecondInStorm)) {
    return false;
  }
  retries_.take(step.now, kRetriesASecondInStorm);
  return true;
}

}  // namespace muster::scheduler
