#pragma once
// Small clusters drawn from a seed, whose free GPUs are counted without the code under test.

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "gossip/base/rng.h"
#include "scheduler/placement/capacity.h"
#include "tests/scheduler/state/cluster.h"

namespace muster::scheduler::testing {

inline constexpr int kClusters = 200;

/// Places the job by a capacity made for this one question.
inline std::optional<Placement> place_in(const State& state, const Job& job,
                                         const std::vector<HostId>& barred = {}) {
  Capacity capacity(state);
  for (const HostId& host : barred) {
    capacity.bar(state, host, true);
  }
  return capacity.place(state, job);
}

/// Up to six hosts of two types, some silent, with jobs placed until one does not fit.
class RandomCluster {
 public:
  explicit RandomCluster(std::uint64_t seed) : rng_(seed) {
    const std::uint64_t hosts = 1 + rng_.below(6);
    for (std::uint64_t i = 1; i <= hosts; ++i) {
      log.apply(registration(i, static_cast<std::uint32_t>(1 + rng_.below(6)), 1,
                             rng_.below(3) == 0 ? "A100" : "H100"));
    }
    for (int i = 0; i < 4; ++i) {
      start(log.submit(static_cast<std::uint32_t>(1 + rng_.below(5))));
    }
    if (rng_.below(3) == 0) {
      log.observe(1 + rng_.below(hosts), Verdict::kSilent);
    }
    waiting = log.submit(static_cast<std::uint32_t>(1 + rng_.below(12)));
  }

  /// Free GPUs by type and host, counted without any code under test but State.
  std::map<std::string, std::vector<std::uint32_t>> free(const std::set<JobId>& ended = {}) const {
    std::map<std::string, std::vector<std::uint32_t>> counts;
    const GpuHolders holders = log.state.gpu_holders();
    for (const auto& [id, host] : log.state.hosts()) {
      std::uint32_t count = 0;
      for (const std::string& uuid : host.gpus) {
        const auto held_by = holders.find(uuid);
        const bool held = held_by != holders.end() &&
                          ended.count(log.state.attempt(held_by->second.at(0).token)->job) == 0;
        count += held ? 0 : 1;
      }
      if (host.verdict == Verdict::kAlive) {
        counts[host.gpu_type].push_back(count);
      }
    }
    return counts;
  }
  const Job& job() const { return *log.state.job(waiting); }

  Log log;
  JobId waiting;

 private:
  void start(JobId id) {
    const std::optional<Placement> placement = place_in(log.state, *log.state.job(id));
    if (placement.has_value()) {
      ASSERT_FALSE(log.decide(id, placement->members).is_none()) << "rejected at apply: overlap";
    }
  }
  Rng rng_;
};

/// By hosts of one type.
inline bool fits(const std::map<std::string, std::vector<std::uint32_t>>& free,
                 std::uint32_t wanted) {
  for (const auto& [type, hosts] : free) {
    std::uint32_t sum = 0;
    for (const std::uint32_t count : hosts) {
      sum += count;
    }
    if (sum >= wanted) {
      return true;
    }
  }
  return false;
}

}  // namespace muster::scheduler::testing
