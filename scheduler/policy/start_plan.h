#pragma once
// The plan of a job that is next in its pool and does not fit: the hosts that are likely to be free
// for it soonest, and two times of its start. It is expected when nine in ten jobs like those that
// run there would have ended (run_times.h); it is sure when their time limits are over, which the
// quorum enforces. Others may use its hosts if they are expected to end before the one time, and
// sure to end before the other (EASY backfilling, Lifka 1995, with predicted ends: Tsafrir et al.
// 2007).
//
// A plan is not in the log: it delays and nothing else, and a new leader works out its own. Pure.

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "scheduler/placement/capacity.h"
#include "scheduler/policy/run_times.h"
#include "scheduler/state/state.h"

namespace muster::scheduler {

struct StartPlan {
  JobId job;
  std::string pool;  ///< A folded GPU type, or kCpuPool.
  // Cluster times.
  Duration expected{0};      ///< The job is likely to fit then.
  Duration start{0};         ///< It fits then at the latest.
  std::set<HostId> hosts{};  ///< The hosts that it uses then.
  bool operator==(const StartPlan&) const = default;
};

/// Cluster times at which an attempt has given back what it holds; not before now.
struct AttemptEnd {
  Duration expected{0};  ///< Nine in ten like it have.
  Duration latest{0};    ///< Its limit, and the time that its ranks get to end.
  bool operator==(const AttemptEnd&) const = default;
};
/// Of all that ran as long, the part in per cent that ends by AttemptEnd::expected.
inline constexpr std::uint32_t kExpectedPercent = 90;

/// nullopt: it has no time limit, or is not of this state. `runs` null: expected as at the latest.
std::optional<AttemptEnd> end_of(const State& state, const Token& token, const RunTimes* runs);
/// The same for an attempt of the job that is decided now and may be reserved for `deadline`.
std::optional<AttemptEnd> end_of_new(const State& state, const Job& job, Duration deadline,
                                     const RunTimes* runs);

/// The hosts that a plan may use: those of `only`, or all if it is null, without `kept`.
struct PlanHosts {
  const std::set<HostId>* only = nullptr;
  std::set<HostId> kept{};  ///< For other jobs.
};

/// nullopt if attempts without an end hold what the job needs. GPUs asked for and not in the
/// log count as held for ever. `runs` null: the plan is made for the times at the latest. O(hosts
/// * attempts of a host).
std::optional<StartPlan> plan_start(const State& state, const Capacity& capacity, const Job& job,
                                    const std::string& pool, const RunTimes* runs = nullptr,
                                    const PlanHosts& hosts = {});

}  // namespace muster::scheduler
