#include "scheduler/policy/start_plan.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "scheduler/state/charge.h"

namespace muster::scheduler {
namespace {

/// A host holds so many more units of the job from that time on.
struct Gain {
  AttemptEnd at;  ///< Of all that has to end for it.
  HostId host;
  std::uint32_t units = 0;
};

/// Racks or spines by name, or hosts, if all units have to be in one of them; else one group.
std::string group_of(const Shape& shape, const HostRecord& host) {
  if (shape.is_for_one_host()) {
    return host.id.hex();
  }
  // Racks of one name under different spines are different racks.
  return shape.pack == Pack::kRack    ? host.traits.spine + "/" + host.traits.rack
         : shape.pack == Pack::kSpine ? host.traits.spine
                                      : std::string();
}

/// A host that names no rack or spine is in none.
bool is_in_group(const Shape& shape, const HostRecord& host) {
  return shape.is_for_one_host() || ((shape.pack != Pack::kRack || !host.traits.rack.empty()) &&
                                     (shape.pack != Pack::kSpine || !host.traits.spine.empty()));
}

/// The ends of attempts on the host, the one expected first leads, without those that have no end.
std::vector<std::pair<AttemptEnd, Token>> ends_on(const State& state, const HostId& host,
                                                  const RunTimes* runs) {
  std::vector<std::pair<AttemptEnd, Token>> ends;
  for (const Token& token : state.gpus().on(host).tokens) {
    if (const std::optional<AttemptEnd> end = end_of(state, token, runs)) {
      ends.emplace_back(*end, token);
    }
  }
  std::sort(ends.begin(), ends.end(), [](const auto& one, const auto& other) {
    return std::tuple(one.first.expected, one.second) <
           std::tuple(other.first.expected, other.second);
  });
  return ends;
}

class Planner {
 public:
  Planner(const State& state, const Capacity& capacity, const Job& job, const std::string& pool,
          const RunTimes* runs)
      : state_(state),
        capacity_(capacity),
        pool_(pool),
        runs_(runs),
        shape_(shape_of(job)),
        choice_(capacity.choice(job, {})) {
    std::sort(choice_.barred.begin(), choice_.barred.end());
    if (choice_.only.has_value()) {
      std::sort(choice_.only->begin(), choice_.only->end());
    }
  }

  void add(const HostRecord& host) {
    const HostSpace* free = capacity_.free_on(host.id);
    if (free == nullptr || !is_chosen(host.number)) {
      return;
    }
    const HostKind& kind = capacity_.kind_on(*free);
    std::string group = group_of(shape_, host);
    if (!preference(shape_, kind).has_value() || !is_in_group(shape_, host) ||
        (pool_ != kCpuPool && kind.gpu_type != pool_)) {
      return;
    }
    add_gains(host.id, *free, kind, groups_[std::move(group)]);
  }

  /// The hosts and the start of the group that is ready first.
  std::optional<StartPlan> best() {
    std::optional<StartPlan> best;
    for (auto& [group, gains] : groups_) {
      std::optional<StartPlan> plan = first_fit(gains);
      if (plan.has_value() && (!best.has_value() || plan->expected < best->expected)) {
        best = std::move(plan);
      }
    }
    return best;
  }

 private:
  bool is_chosen(HostNumber host) const {
    const auto has = [host](const std::vector<HostNumber>& hosts) {
      return std::binary_search(hosts.begin(), hosts.end(), host);
    };
    return !has(choice_.barred) && (!choice_.only.has_value() || has(*choice_.only));
  }

  void add_gains(const HostId& host, const HostSpace& free, const HostKind& kind,
                 std::vector<Gain>& gains) const {
    const Duration now = state_.cluster_time();
    std::uint32_t units = units_in(shape_, kind, free);
    if (units != 0) {
      gains.push_back({{now, now}, host, units});
    }
    std::set<Token> ended;
    AttemptEnd all{now, now};
    for (const auto& [end, token] : ends_on(state_, host, runs_)) {
      ended.insert(token);
      all = {end.expected, std::max(all.latest, end.latest)};
      const auto space = capacity_.free_without(state_, host, ended);
      const std::uint32_t more = space.has_value() ? units_in(shape_, kind, *space) : 0;
      if (more > units) {
        gains.push_back({all, host, more - units});
        units = more;
      }
      if (units >= shape_.units) {
        return;
      }
    }
  }

  std::optional<StartPlan> first_fit(std::vector<Gain>& gains) const {
    std::sort(gains.begin(), gains.end(), [](const Gain& one, const Gain& other) {
      return std::tuple(one.at.expected, other.units, one.host) <
             std::tuple(other.at.expected, one.units, other.host);
    });
    StartPlan plan;
    std::uint64_t units = 0;
    for (const Gain& gain : gains) {
      units += gain.units;
      plan.hosts.insert(gain.host);
      plan.expected = gain.at.expected;
      plan.start = std::max(plan.start, gain.at.latest);
      if (units >= shape_.units) {
        return plan;
      }
    }
    return std::nullopt;
  }

  const State& state_;
  const Capacity& capacity_;
  const std::string& pool_;
  const RunTimes* const runs_;
  const Shape shape_;
  HostChoice choice_;
  std::map<std::string, std::vector<Gain>> groups_;
};

}  // namespace

std::optional<AttemptEnd> end_of(const State& state, const Token& token, const RunTimes* runs) {
  const Attempt* attempt = state.attempt(token);
  const Job* job = attempt == nullptr ? nullptr : state.job(attempt->job);
  if (job == nullptr) {
    return std::nullopt;
  }
  const Duration now = state.cluster_time();
  if (attempt->state == AttemptState::kStopping) {
    return AttemptEnd{now + attempt->grace, now + attempt->grace};
  }
  const Duration limit = job->spec.limits.time_limit;
  if (limit == Duration::zero()) {
    return std::nullopt;
  }
  const bool has_started = attempt->state == AttemptState::kStarted;
  const Duration begins =
      has_started ? attempt->started_at : attempt->reserved_at + attempt->deadline;
  const Duration age = std::max(Duration::zero(), now - begins);
  const Duration run = runs == nullptr ? limit : runs->predicted(job->spec, kExpectedPercent, age);
  const Duration latest = std::max(now, begins + limit) + attempt->grace;
  return AttemptEnd{runs == nullptr ? latest : std::max(now, begins + run), latest};
}

std::optional<AttemptEnd> end_of_new(const State& state, const Job& job, Duration deadline,
                                     const RunTimes* runs) {
  const Limits& limits = job.spec.limits;
  if (limits.time_limit == Duration::zero()) {
    return std::nullopt;
  }
  const Duration begins = state.cluster_time() + deadline;
  const Duration latest = begins + limits.time_limit + limits.grace;
  return AttemptEnd{runs == nullptr
                        ? latest
                        : begins + runs->predicted(job.spec, kExpectedPercent, Duration::zero()),
                    latest};
}

std::optional<StartPlan> plan_start(const State& state, const Capacity& capacity, const Job& job,
                                    const std::string& pool, const RunTimes* runs,
                                    const PlanHosts& hosts) {
  Planner planner(state, capacity, job, pool, runs);
  const auto add = [&](const HostRecord& record) {
    if (!hosts.kept.contains(record.id)) {
      planner.add(record);
    }
  };
  if (hosts.only != nullptr) {
    for (const HostId& host : *hosts.only) {
      if (const HostRecord* record = state.host(host)) {
        add(*record);
      }
    }
  } else {
    for (const auto& [id, record] : state.hosts()) {
      add(record);
    }
  }
  std::optional<StartPlan> plan = planner.best();
  if (plan.has_value()) {
    plan->job = job.id;
    plan->pool = pool;
  }
  return plan;
}

}  // namespace muster::scheduler
