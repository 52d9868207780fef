// Placement and "why" against brute force on small random clusters.

#include "scheduler/placement/capacity.h"

#include <gtest/gtest.h>

#include <bit>

#include "gossip/base/rng.h"
#include "scheduler/why/explain.h"
#include "tests/scheduler/leader/cluster.h"

namespace muster::scheduler {
namespace {

using namespace testing;  // NOLINT: the fixture's verbs

constexpr int kClusters = 200;

std::optional<Why> why(const State& state, JobId job) {
  Capacity capacity(state);
  return scheduler::why(state, capacity, job);
}

/// By a capacity that is made anew.
std::optional<Placement> place_in(const State& state, const Job& job,
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
    const Grants grants = log.state.grants();
    for (const auto& [id, host] : log.state.hosts()) {
      std::uint32_t count = 0;
      for (const std::string& uuid : host.gpus) {
        const auto grant = grants.find(uuid);
        const bool held = grant != grants.end() &&
                          ended.count(log.state.attempt(grant->second.at(0).token)->job) == 0;
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

bool fits(const std::map<std::string, std::vector<std::uint32_t>>& free, std::uint32_t wanted) {
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

/// Fewest hosts of one type that hold `wanted`, over all subsets.
std::size_t fewest_hosts(const std::map<std::string, std::vector<std::uint32_t>>& free,
                         std::uint32_t wanted) {
  std::size_t fewest = SIZE_MAX;
  for (const auto& [type, hosts] : free) {
    for (std::uint32_t subset = 1; subset < 1U << hosts.size(); ++subset) {
      std::uint32_t sum = 0;
      for (std::size_t i = 0; i < hosts.size(); ++i) {
        sum += (subset >> i & 1) != 0 ? hosts[i] : 0;
      }
      if (sum >= wanted) {
        fewest = std::min(fewest, static_cast<std::size_t>(std::popcount(subset)));
      }
    }
  }
  return fewest;
}

TEST(Placement, IsAllOrNothingOnTheFewestHostsOfOneType) {
  for (std::uint64_t seed = 1; seed <= kClusters; ++seed) {
    SCOPED_TRACE("seed=" + std::to_string(seed));
    RandomCluster cluster(seed);
    const std::optional<Placement> placement = place_in(cluster.log.state, cluster.job());
    ASSERT_EQ(placement.has_value(), fits(cluster.free(), cluster.job().spec.request.gpus));
    if (!placement.has_value()) {
      continue;
    }
    EXPECT_EQ(placement->members.size(),
              fewest_hosts(cluster.free(), cluster.job().spec.request.gpus));
    for (const Member& member : placement->members) {
      EXPECT_EQ(cluster.log.state.host(member.host)->gpu_type, placement->type);
    }
    EXPECT_FALSE(cluster.log.decide(cluster.waiting, placement->members).is_none());
  }
}

TEST(Placement, SmallGangsTakeTheFullestHostThatFits) {
  Log log;
  log.apply(registration(1, 8));
  log.apply(registration(2, 3));
  log.apply(registration(3, 2));
  const JobId two = log.submit(2);
  EXPECT_EQ(place_in(log.state, *log.state.job(two))->members[0].host, host_id(3));
  const JobId ten = log.submit(10);
  const std::optional<Placement> gang = place_in(log.state, *log.state.job(ten));
  ASSERT_EQ(gang->members.size(), 2U);
  EXPECT_EQ(gang->members[0].host, host_id(1)) << "whole hosts first";
  EXPECT_EQ(gang->members[1].host, host_id(3)) << "the rest by best fit";
}

TEST(Placement, LeavesOutRefusersAndExcludedHosts) {
  Log log;
  log.apply(registration(1, 4));
  Job job;
  job.spec = spec_of(1);
  job.left_out = {{host_id(1), std::chrono::seconds(60)}};
  EXPECT_FALSE(place_in(log.state, job).has_value());
  job.left_out.clear();
  EXPECT_TRUE(place_in(log.state, job).has_value());
  EXPECT_FALSE(place_in(log.state, job, {host_id(1)}).has_value());
}

/// The smallest set of jobs whose end makes the waiting one fit: (count, GPUs), over all sets.
std::pair<std::size_t, std::size_t> brute_force_change(const RandomCluster& cluster,
                                                       const std::vector<Holder>& all) {
  std::pair<std::size_t, std::size_t> best{SIZE_MAX, SIZE_MAX};
  for (std::uint32_t subset = 1; subset < 1U << all.size(); ++subset) {
    std::set<JobId> ended;
    std::size_t gpus = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if ((subset >> i & 1) != 0) {
        ended.insert(all[i].job);
        gpus += all[i].gpus;
      }
    }
    if (fits(cluster.free(ended), cluster.job().spec.request.gpus)) {
      best = std::min(best, {ended.size(), gpus});
    }
  }
  return best;
}

/// All running jobs with the GPUs they hold on hosts that take work.
std::vector<Holder> running_jobs(const RandomCluster& cluster) {
  std::map<JobId, Holder> holders;
  for (const auto& [uuid, slots] : cluster.log.state.grants()) {
    const Grant& grant = slots.at(0);
    Holder& holder = holders[cluster.log.state.attempt(grant.token)->job];
    holder.job = cluster.log.state.attempt(grant.token)->job;
    holder.gpus += cluster.log.state.host(grant.host)->takes_work() ? 1 : 0;
  }
  std::vector<Holder> list;
  for (auto& [id, holder] : holders) {
    list.push_back(holder);
  }
  return list;
}

TEST(Why, NamesTheSmallestChange) {
  int explained = 0;
  for (std::uint64_t seed = 1; seed <= kClusters; ++seed) {
    SCOPED_TRACE("seed=" + std::to_string(seed));
    RandomCluster cluster(seed);
    const std::optional<Why> answer = why(cluster.log.state, cluster.waiting);
    ASSERT_TRUE(answer.has_value());
    EXPECT_EQ(answer->fits_now, fits(cluster.free(), cluster.job().spec.request.gpus));
    EXPECT_TRUE(answer->largest_now == 0 || fits(cluster.free(), answer->largest_now));
    EXPECT_FALSE(fits(cluster.free(), answer->largest_now + 1));
    EXPECT_FALSE(answer->text().empty());
    const auto best = brute_force_change(cluster, running_jobs(cluster));
    if (answer->fits_now || best.first == SIZE_MAX) {
      EXPECT_TRUE(answer->smallest_end.empty());
      continue;
    }
    ++explained;
    EXPECT_EQ(answer->smallest_end.size(), best.first);
    const std::set<JobId> ended(answer->smallest_end.begin(), answer->smallest_end.end());
    EXPECT_TRUE(fits(cluster.free(ended), cluster.job().spec.request.gpus));
  }
  EXPECT_GT(explained, kClusters / 10) << "the clusters say too little";
}

TEST(Placement, WhatCouldEverBeCountsEveryHostThatHasNotLeft) {
  Log log;
  Shape any;
  EXPECT_EQ(Capacity(log.state).ever_for(any), 0U);
  log.apply(registration(1, 4));
  log.apply(registration(2, 4));
  log.apply(registration(3, 2, 1, "A100"));
  log.observe(1, Verdict::kSilent);
  EXPECT_EQ(Capacity(log.state).ever_for(any), 8U);
  any.types = {"a100"};
  EXPECT_EQ(Capacity(log.state).ever_for(any), 2U);
  any.types = {"b200"};
  EXPECT_EQ(Capacity(log.state).ever_for(any), 0U);
  any.types.clear();
  log.observe(1, Verdict::kLeft);
  EXPECT_EQ(Capacity(log.state).ever_for(any), 4U) << "who left does not come back";
}

TEST(Placement, AHostWithoutNamespacesTakesOnlyJobsThatSilenceNeverEnds) {
  Log log;
  log.apply(registration(1, 2));
  entry::Register without = registration(2, 4);
  without.has_namespaces = false;
  log.apply(without);
  Shape any;
  EXPECT_EQ(Capacity(log.state).ever_for(any), 2U);
  any.takes_bare_hosts = true;
  EXPECT_EQ(Capacity(log.state).ever_for(any), 6U);
  log.run(log.submit(2), {member_of(1, 0, 2)});
  const JobId waits = log.submit(1);
  EXPECT_FALSE(place_in(log.state, *log.state.job(waits)).has_value());
  EXPECT_TRUE(log.decide(waits, {member_of(2, 0, 1)}).is_none()) << "not checked again at apply";
  EXPECT_NE(why(log.state, waits)->text().find("4 more take only --isolation keep"),
            std::string::npos);
  entry::Submit kept = submission("kept", 4);
  kept.spec.keep_when_isolated = true;
  const Job& job = *log.state.job(log.apply(kept).job);
  const std::optional<Placement> placement = place_in(log.state, job);
  ASSERT_TRUE(placement.has_value());
  EXPECT_EQ(placement->members[0].host, host_id(2));
  Result<State> copy = State::decode(log.state.encode());
  ASSERT_TRUE(copy.has_value());
  EXPECT_FALSE(copy->host(host_id(2))->has_namespaces);
}

}  // namespace
}  // namespace muster::scheduler
