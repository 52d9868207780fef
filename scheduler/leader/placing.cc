#include "scheduler/leader/placing.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

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

}  // namespace

void Placing::on_applied(const StepContext& step, const Entry& entry, const ApplyResult& result) {
  is_wanted_ = is_wanted_ || result.capacity_changed;
  if (result.capacity_changed && std::holds_alternative<entry::Tick>(entry)) {
    step.pending.reopen_alone();  // A host may have been left out for long enough.
  }
  if (const auto* decided = std::get_if<entry::Decide>(&entry)) {
    settle(step, decided->job);
  }
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
  for (std::optional<JobId> first = step.pending.first();
       first.has_value() && step.capacity.asked_count() < kDecidesMax;
       first = step.pending.first()) {
    const Job& job = *step.state.job(*first);
    if (step.pending.is_blocked(job.id)) {
      return kNever;
    }
    std::optional<Placement> placement = step.capacity.place(step.state, job);
    if (!placement.has_value() && step.capacity.could_hold(job)) {
      step.pending.block(job.id);
      return kNever;
    }
    if (!placement.has_value()) {
      step.pending.set_aside(job.id);  // It is first again when its hosts are back, or allowed.
      continue;
    }
    if (!may_begin(step, job)) {
      is_wanted_ = true;
      return retries_.ready_at(kRetriesASecondInStorm);
    }
    entry::Decide fact;
    fact.job = job.id;
    fact.attempt = job.life.attempts + 1;
    fact.hold = hold_of(job.spec, placement->members.size());
    fact.grace = job.spec.limits.grace;
    fact.deadline = step.config.reserve_deadline + longest_prolog(step, *placement);
    step.pending.hide(job.id);
    step.capacity.ask(step.state, fact.job, *placement);
    fact.members = std::move(placement->members);
    proposals.propose(step, std::move(fact));
  }
  return kNever;
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
