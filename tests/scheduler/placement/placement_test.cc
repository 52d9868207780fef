// Placement against brute force on small random clusters.

#include "scheduler/placement/capacity.h"

#include <gtest/gtest.h>

#include <bit>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "tests/scheduler/placement/random_cluster.h"
#include "tests/scheduler/state/cluster.h"

namespace muster::scheduler {
namespace {

using namespace testing;  // NOLINT: the fixture's verbs

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
  job.life.left_out = {{host_id(1), std::chrono::seconds(60)}};
  EXPECT_FALSE(place_in(log.state, job).has_value());
  EXPECT_FALSE(Capacity(log.state).could_hold(job));
  job.life.left_out.clear();
  EXPECT_TRUE(Capacity(log.state).could_hold(job));
  EXPECT_TRUE(place_in(log.state, job).has_value());
  EXPECT_FALSE(place_in(log.state, job, {host_id(1)}).has_value());
}

TEST(Placement, MayBeHeldToSomeOfTheTypesThatAJobAccepts) {
  Log log;
  log.apply(registration(1, 4));
  log.apply(registration(2, 8, 1, "A100"));
  log.apply(registration(3, 2, 1, "B200"));
  Capacity capacity(log.state);
  const std::vector<std::string> h100 = {"h100"};
  const std::vector<std::string> rest = {"b200", "h100"};
  const auto type_on = [&](const Job& job, std::span<const std::string> types) {
    const std::optional<Placement> placement = capacity.place(log.state, job, types);
    return placement.has_value() ? placement->type : "";
  };
  Job job;
  job.spec = spec_of(2);
  EXPECT_EQ(type_on(job, h100), "H100");
  EXPECT_NE(type_on(job, rest), "A100");
  EXPECT_EQ(capacity.live_for(job, h100), 4U);
  EXPECT_EQ(capacity.live_for(job), 8U);
  job.spec.request.gpu_types = {"A100", "H100"};
  EXPECT_EQ(type_on(job, {}), "A100");
  EXPECT_EQ(type_on(job, rest), "H100");
  EXPECT_EQ(type_on(job, std::vector<std::string>{"b200"}), "");
  EXPECT_FALSE(capacity.could_hold(job, std::vector<std::string>{"b200"}));
  job.spec.request.gpus = 5;
  EXPECT_TRUE(capacity.could_hold(job));
  EXPECT_FALSE(capacity.could_hold(job, h100));
  EXPECT_EQ(capacity.gpu_types(), (std::set<std::string, std::less<>>{"a100", "b200", "h100"}));
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
  entry::Submit kept = submission("kept", 4);
  kept.spec.limits.keep_when_isolated = true;
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
