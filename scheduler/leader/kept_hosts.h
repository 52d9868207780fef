#pragma once
// The hosts that a leader keeps for jobs that are next in their pools and do not fit: a plan for
// each such pool (policy/start_plan.h), once the pool was stuck for a while. While a pool has a
// plan, other jobs pass the first one there, and the plan's hosts take only those that end before
// it starts. It stays until its job starts or cannot start any more, so that two large jobs do not
// take hosts from each other. A plan whose start slipped kSlipsMax times takes no others any more:
// the limits of what runs there bound the rest. Owned by Placing.
//
// Invariants: PendingIndex passes in a pool exactly while the pool has a plan; no host is in two
// plans of different jobs, or they would wait for each other.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "gossip/base/time.h"
#include "scheduler/leader/step_context.h"
#include "scheduler/policy/start_plan.h"

namespace muster::scheduler {

/// Cluster time for which a pool is stuck before its first job gets a plan, and before the next try
/// if none can be worked out. Lower: plans are worked out for jobs that would soon fit. Higher:
/// what the first job cannot use is idle for longer.
inline constexpr Duration kStuckPatience = std::chrono::seconds(10);
/// Cluster time after which a plan is worked out again on its hosts.
inline constexpr Duration kPlanRenewal = std::chrono::seconds(30);
/// Cluster time after which better hosts are looked for, among all: O(hosts * attempts of a host).
/// Its time with 100,000 GPUs is not measured.
inline constexpr Duration kPlanSearch = std::chrono::minutes(5);
/// Other hosts are taken only if the job is expected to start earlier by so much at least.
inline constexpr Duration kPlanGain = std::chrono::minutes(5);
/// A start that is expected later by more than this has slipped.
inline constexpr Duration kSlip = std::chrono::minutes(1);
inline constexpr std::uint32_t kSlipsMax = 2;

class KeptHosts {
 public:
  /// Drops plans whose job starts or cannot start, and renews those that are old.
  void renew(const StepContext& step);
  /// Drops plans whose job was not tried though it is not blocked: a max of its queues is in the
  /// way. True if there was one. Call it once all others were tried.
  bool drop_unoffered(const StepContext& step);
  /// Looks at pools that are stuck. True if one of them has a plan now, and others may be tried.
  bool plan_for_stuck(const StepContext& step);
  /// Whether renew() or plan_for_stuck() would do something only because of the time.
  bool is_due(const State& state) const;

  /// The job, with its hosts in those pools; types as in PendingIndex. nullopt: it does not fit, or
  /// the hosts that it may use are kept for others.
  std::optional<Placement> place(const StepContext& step, const Job& job,
                                 const std::vector<std::string>& types) const;
  /// Whether an attempt of the job that may be reserved there for `deadline` ends before all jobs
  /// start that hosts of the placement are kept for.
  bool allows(const StepContext& step, const Job& job, const Placement& placement,
              Duration deadline) const;
  /// Whether hosts are kept from the job.
  bool is_kept_out(JobId job) const;

 private:
  struct Kept {
    StartPlan plan;
    std::vector<HostNumber> hosts;  ///< Of the plan.
    Duration renewal{0};            ///< Cluster time.
    Duration search{0};             ///< The same.
    std::uint32_t slips = 0;
  };
  using KeptOfPool = std::map<std::string, Kept>;

  void keep(const StepContext& step, StartPlan plan);
  void drop(const StepContext& step, KeptOfPool::iterator kept);
  std::optional<StartPlan> planned(const StepContext& step, JobId job, const std::string& pool,
                                   const std::set<HostId>* only) const;
  std::optional<StartPlan> renewed(const StepContext& step, Kept& kept) const;
  bool may_enter(const StepContext& step, const Job& job, Duration deadline,
                 const Kept& kept) const;
  static bool may_start(const StepContext& step, const StartPlan& plan);

  KeptOfPool kept_;
  /// By pool that is stuck: cluster time of the next try to plan.
  std::map<std::string, Duration> patience_;
};

}  // namespace muster::scheduler
