#include "scheduler/leader/kept_hosts.h"

#include <algorithm>
#include <set>
#include <utility>

#include "scheduler/protocol/mutants.h"
#include "scheduler/state/charge.h"

namespace muster::scheduler {
namespace {

std::vector<std::string> types_of(const std::string& pool) {
  return pool == kCpuPool ? std::vector<std::string>() : std::vector<std::string>{pool};
}

/// Whether an attempt with that end may use hosts of the plan.
bool ends_before(const std::optional<AttemptEnd>& end, const StartPlan& plan) {
  if (mutant(SchedulerMutant::kPlanBySubmit)) {
    return end.has_value();
  }
  return end.has_value() && end->expected <= plan.expected && end->latest <= plan.start;
}

}  // namespace

void KeptHosts::keep(const StepContext& step, StartPlan plan) {
  step.pending.pass(plan.pool, plan.job, least_charge_of(step.state.job(plan.job)->spec));
  const auto [known, is_new] = kept_.try_emplace(plan.pool);
  Kept& kept = known->second;
  if (is_new) {
    kept.search = step.state.cluster_time() + kPlanSearch;
  }
  kept.hosts.clear();
  for (const HostId& host : plan.hosts) {
    kept.hosts.push_back(step.capacity.number_of(host));
  }
  kept.renewal = step.state.cluster_time() + kPlanRenewal;
  kept.plan = std::move(plan);
}

void KeptHosts::drop(const StepContext& step, KeptOfPool::iterator kept) {
  step.pending.be_strict(kept->first);
  step.pending.unblock_kept_out();
  kept_.erase(kept);
}

std::optional<StartPlan> KeptHosts::planned(const StepContext& step, JobId job,
                                            const std::string& pool,
                                            const std::set<HostId>* only) const {
  PlanHosts hosts{only, {}};
  for (const auto& [its, kept] : kept_) {
    if (kept.plan.job != job) {
      hosts.kept.insert(kept.plan.hosts.begin(), kept.plan.hosts.end());
    }
  }
  return plan_start(step.state, step.capacity, *step.state.job(job), pool, &step.run_times, hosts);
}

/// Whether the job waits for hosts of the plan and for nothing else.
bool KeptHosts::may_start(const StepContext& step, const StartPlan& plan) {
  const Job* job = step.state.job(plan.job);
  if (job == nullptr || !job->is_pending()) {
    return false;
  }
  const bool is_asked_for = step.pending.is_hidden(plan.job);
  return is_asked_for || (least_charge_of(job->spec) <= step.pending.room(plan.job, plan.pool) &&
                          step.capacity.could_hold(*job, types_of(plan.pool)));
}

/// The plan as it is now, on its hosts unless others are ready much earlier.
std::optional<StartPlan> KeptHosts::renewed(const StepContext& step, Kept& kept) const {
  const StartPlan& plan = kept.plan;
  std::optional<StartPlan> same = planned(step, plan.job, plan.pool, &plan.hosts);
  const bool is_asked_there = !same.has_value() && step.capacity.asked_count() != 0;
  if (is_asked_there || (same.has_value() && step.state.cluster_time() < kept.search)) {
    return same;
  }
  kept.search = step.state.cluster_time() + kPlanSearch;
  std::optional<StartPlan> best = planned(step, plan.job, plan.pool, nullptr);
  const bool is_better =
      best.has_value() && (!same.has_value() || best->expected + kPlanGain <= same->expected);
  return is_better ? best : same;
}

void KeptHosts::renew(const StepContext& step) {
  const Duration now = step.state.cluster_time();
  for (auto each = kept_.begin(); each != kept_.end();) {
    const auto kept = each++;
    if (!may_start(step, kept->second.plan)) {
      drop(step, kept);
      continue;
    }
    const JobId job = kept->second.plan.job;
    // Other queues make all pools strict, and so does another ring of the job.
    step.pending.pass(kept->first, job, least_charge_of(step.state.job(job)->spec));
    if (now < kept->second.renewal || step.pending.is_hidden(kept->second.plan.job)) {
      continue;
    }
    std::optional<StartPlan> next = renewed(step, kept->second);
    if (!next.has_value() && step.capacity.asked_count() != 0) {
      continue;  // A Decide on its way counts as held for ever, and is in the log soon.
    }
    if (!next.has_value()) {
      drop(step, kept);
      continue;
    }
    step.pending.unblock_kept_out();  // More may be known of those that pass, too.
    kept->second.slips += next->expected > kept->second.plan.expected + kSlip ? 1 : 0;
    keep(step, std::move(*next));
  }
}

bool KeptHosts::drop_unoffered(const StepContext& step) {
  bool is_any = false;
  for (auto each = kept_.begin(); each != kept_.end();) {
    const auto kept = each++;
    const JobId job = kept->second.plan.job;
    if (!step.pending.is_hidden(job) && !step.pending.is_blocked(job, kept->first)) {
      drop(step, kept);
      is_any = true;
    }
  }
  return is_any;
}

bool KeptHosts::plan_for_stuck(const StepContext& step) {
  const Duration now = step.state.cluster_time();
  std::map<std::string, Duration> patience;
  bool is_any_new = false;
  for (const auto& [pool, job] : step.pending.stuck()) {
    const auto known = patience_.find(pool);
    const Duration at = known == patience_.end() ? now + kStuckPatience : known->second;
    if (now < at) {
      patience[pool] = at;
      continue;
    }
    std::optional<StartPlan> plan = planned(step, job, pool, nullptr);
    if (plan.has_value()) {
      keep(step, std::move(*plan));
      is_any_new = true;
    } else {
      patience[pool] = now + kStuckPatience;
    }
  }
  patience_ = std::move(patience);
  return is_any_new;
}

bool KeptHosts::is_due(const State& state) const {
  const Duration now = state.cluster_time();
  return std::any_of(kept_.begin(), kept_.end(),
                     [&](const auto& each) { return each.second.renewal <= now; }) ||
         std::any_of(patience_.begin(), patience_.end(),
                     [&](const auto& each) { return each.second <= now; });
}

bool KeptHosts::is_kept_out(JobId job) const {
  return std::any_of(kept_.begin(), kept_.end(),
                     [&](const auto& each) { return each.second.plan.job != job; });
}

bool KeptHosts::may_enter(const StepContext& step, const Job& job, Duration deadline,
                          const Kept& kept) const {
  return kept.plan.job == job.id ||
         (kept.slips < kSlipsMax &&
          ends_before(end_of_new(step.state, job, deadline, &step.run_times), kept.plan));
}

bool KeptHosts::allows(const StepContext& step, const Job& job, const Placement& placement,
                       Duration deadline) const {
  return mutant(SchedulerMutant::kPlanIgnored) ||
         std::all_of(kept_.begin(), kept_.end(), [&](const auto& each) {
           const std::set<HostId>& hosts = each.second.plan.hosts;
           return may_enter(step, job, deadline, each.second) ||
                  std::none_of(placement.members.begin(), placement.members.end(),
                               [&](const Member& member) { return hosts.contains(member.host); });
         });
}

std::optional<Placement> KeptHosts::place(const StepContext& step, const Job& job,
                                          const std::vector<std::string>& types) const {
  if (!is_kept_out(job.id) || mutant(SchedulerMutant::kPlanIgnored)) {
    return step.capacity.place(step.state, job, types);
  }
  std::vector<HostNumber> all;
  std::vector<HostNumber> closed;
  for (const auto& [pool, kept] : kept_) {
    if (kept.plan.job == job.id) {
      continue;
    }
    all.insert(all.end(), kept.hosts.begin(), kept.hosts.end());
    if (!may_enter(step, job, step.config.reserve_deadline, kept)) {
      closed.insert(closed.end(), kept.hosts.begin(), kept.hosts.end());
    }
  }
  std::optional<Placement> placement = step.capacity.place(step.state, job, types, all);
  return placement.has_value() || closed.size() == all.size()
             ? placement
             : step.capacity.place(step.state, job, types, closed);
}

}  // namespace muster::scheduler
