// Requests of jobs, through the log: a placement is as the request asks, the log takes it, and the
// kept capacity gives the same answers as a new one.

#include <gtest/gtest.h>

#include "tests/scheduler/placement/logged_fleet.h"
#include "tests/scheduler/state/cluster.h"

namespace muster::scheduler {
namespace {

using namespace testing;  // NOLINT: the fixture's verbs
using namespace std::chrono_literals;

constexpr int kFleets = 300;

TEST(Requests, WhatIsPlacedIsAsItWasAskedForAndTheLogTakesIt) {
  int placed = 0;
  for (std::uint64_t seed = 1; seed <= kFleets && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomFleet fleet(seed);
    for (int i = 0; i < kSteps && !::testing::Test::HasFailure(); ++i) {
      fleet.change();
    }
    placed += fleet.placed;
  }
  EXPECT_GT(placed, kFleets * 5) << "the fleets hold too little";
}

TEST(Requests, AGpuTakesItsShareOfTheHost) {
  LoggedFleet fleet;
  fleet.apply(machine(1, 4, 10, 4000));
  ASSERT_TRUE(fleet.start(fleet.submit({.gpus = 3})));
  EXPECT_EQ(fleet.log.state.held_on(host_id(1)), (HeldAmounts{1, 7500, 3000}));
  EXPECT_TRUE(fleet.place(fleet.submit({.gpus = 1})).has_value());
  EXPECT_FALSE(fleet.place(fleet.submit({.gpus = 1, .cpus = 2501})).has_value());
  EXPECT_TRUE(fleet.place(fleet.submit({.gpus = 0, .ranks = 2})).has_value());
  EXPECT_FALSE(fleet.place(fleet.submit({.gpus = 0, .ranks = 3})).has_value()) << "1 CPU a rank";
}

/// A GPU's number is free again with its last offer; here while a leader still asks for it.
TEST(Requests, ANumberOfAGpuThatIsGivenAnewWhileItIsAskedForIsFreeAgain) {
  LoggedFleet fleet;
  fleet.apply(registration(1, 2));
  Request two;
  two.gpus = 2;
  const JobId first = fleet.submit(two);
  const JobId second = fleet.submit(two);
  fleet.capacity.ask(fleet.log.state, first, fleet.place(first).value());
  const auto number = fleet.log.state.gpus().number_of(uuid_of(1, 0));
  fleet.apply(registration(1, 0, 2));
  fleet.apply(registration(2, 2));
  ASSERT_TRUE(number == fleet.log.state.gpus().number_of(uuid_of(2, 0)) ||
              number == fleet.log.state.gpus().number_of(uuid_of(2, 1)));
  EXPECT_FALSE(fleet.place(second).has_value()) << "the numbers are still asked for";
  fleet.capacity.settle(fleet.log.state, first);
  EXPECT_TRUE(fleet.capacity.is_right(fleet.log.state));
  EXPECT_TRUE(fleet.start(second));
}

TEST(Requests, TheLogRejectsMoreThanTheHostHas) {
  LoggedFleet fleet;
  fleet.apply(machine(1, 4, 10, 4000));
  const JobId job = fleet.submit({.gpus = 2, .cpus = 5000});
  std::vector<Member> members = fleet.place(job)->members;
  members[0].cpus = 10'001;
  EXPECT_FALSE(fleet.decide(job, members).rejected.empty());
  members[0].cpus = 10'000;
  members[0].memory_mb = 4001;
  EXPECT_FALSE(fleet.decide(job, members).rejected.empty());
  members[0].memory_mb = 4000;
  EXPECT_EQ(fleet.decide(job, members).rejected, "");
}

TEST(Requests, NoHostAndNoJobIsTakenThatCannotBe) {
  LoggedFleet fleet;
  const auto rejects = [&](entry::Register fact) {
    return !fleet.apply(fact).rejected.empty() && fleet.log.state.hosts().empty();
  };
  entry::Register fact = machine(1, 4, kHostCpusMax + 1, 0);
  EXPECT_TRUE(rejects(fact));
  fact = machine(1, 4, 1, kMemoryMbMax + 1);
  EXPECT_TRUE(rejects(fact));
  fact = machine(1, 4, 1, 1);
  fact.traits.islands = {0, 0, 1};
  EXPECT_TRUE(rejects(fact)) << "of four GPUs";
  fact.traits.islands.clear();
  fact.traits.labels = {"b", "a"};
  EXPECT_TRUE(rejects(fact)) << "not sorted";
  const auto is_taken = [&](Request request) { return fleet.submit(request) != JobId(); };
  EXPECT_TRUE(is_taken({.gpus = 4, .gpus_per_host = 2, .ranks_per_host = 1}));
  EXPECT_FALSE(is_taken({.gpus = 0}));
  EXPECT_FALSE(is_taken({.gpus = 5, .gpus_per_host = 2}));
  EXPECT_FALSE(is_taken({.gpus = 4, .ranks = 1}));
  EXPECT_FALSE(is_taken({.gpus = 4, .ranks_per_host = 1}));
  EXPECT_FALSE(is_taken({.gpus = kGangUnitsMax + 1}));
  EXPECT_FALSE(is_taken({.gpus = 1, .cpus = kCpusMax + 1}));
  EXPECT_FALSE(is_taken({.gpus = 1, .labels = {"b", "a"}}));
  EXPECT_FALSE(is_taken({.gpus = 1, .labels = {"a", "a"}}));
  EXPECT_FALSE(is_taken({.gpus = 4096, .gpus_per_host = 1, .ranks_per_host = 2}));
  EXPECT_FALSE(is_taken({.gpus = 1, .hosts = {""}}));
}

TEST(Requests, RanksWithoutGpusGoWhereCpusAreOffered) {
  LoggedFleet fleet;
  fleet.apply(machine(1, 0, 0, 0));
  EXPECT_FALSE(fleet.place(fleet.submit({.gpus = 0, .ranks = 1})).has_value());
  EXPECT_FALSE(fleet.place(fleet.submit({.gpus = 0, .ranks = 1, .cpus = 0})).has_value());
  fleet.apply(machine(2, 0, 1, 0));
  for (std::uint32_t i = 0; i < kHostGrantsMax; ++i) {
    ASSERT_TRUE(fleet.start(fleet.submit({.gpus = 0, .ranks = 1, .cpus = 0}))) << i;
  }
  EXPECT_FALSE(fleet.place(fleet.submit({.gpus = 0, .ranks = 1, .cpus = 0})).has_value())
      << "its agent keeps so many grants";
}

TEST(Requests, AHostThatShrankStillGivesWhatItHas) {
  LoggedFleet fleet;
  fleet.apply(machine(1, 2, 8, 0));
  ASSERT_TRUE(fleet.start(fleet.submit({.gpus = 1, .cpus = 8000})));
  entry::Register less = machine(1, 2, 4, 0);
  less.start = pair_of(1);
  fleet.apply(less);
  EXPECT_TRUE(fleet.start(fleet.submit({.gpus = 1, .cpus = 0})));
}

TEST(Requests, AJobThatIsAsideIsTriedAgainWhenARackIsNamed) {
  LoggedFleet fleet;
  fleet.apply(machine(1, 2, 0, 0));
  fleet.apply(machine(2, 2, 0, 0));
  fleet.capacity.take_gains();
  entry::Register named = machine(1, 2, 0, 0, "r1");
  fleet.apply(named);
  EXPECT_FALSE(fleet.capacity.take_gains().has_value()) << "all is to be tried again";
}

TEST(Requests, OneRankAHostHasAllOfItsGpus) {
  LoggedFleet fleet;
  fleet.apply(machine(1, 4, 0, 0));
  fleet.apply(machine(2, 4, 0, 0));
  const JobId job = fleet.submit({.gpus = 6, .gpus_per_host = 3, .ranks_per_host = 1});
  const std::optional<Placement> placement = fleet.place(job);
  ASSERT_TRUE(placement.has_value());
  ASSERT_EQ(placement->members.size(), 2U);
  EXPECT_EQ(placement->members[1].gpus.size(), 3U);
  EXPECT_EQ(placement->members[1].rank_count(), 1U);
  EXPECT_EQ(placement->members[1].first_rank, 1U);
}

TEST(Requests, APackIsRelaxedAfterItsWait) {
  LoggedFleet fleet;
  fleet.apply(machine(1, 2, 0, 0, "r1"));
  fleet.apply(machine(2, 2, 0, 0, "r2"));
  Request in_one_rack{.gpus = 4};
  in_one_rack.pack = Pack::kRack;
  const JobId never = fleet.submit(in_one_rack);
  in_one_rack.pack_wait = 90s;
  const JobId later = fleet.submit(in_one_rack);
  fleet.apply(entry::Tick{89s});
  EXPECT_FALSE(fleet.place(later).has_value());
  const ApplyResult result = fleet.apply(entry::Tick{1s});
  EXPECT_EQ(result.jobs_moved, std::vector<JobId>{later});
  ASSERT_FALSE(result.events.empty());
  EXPECT_EQ(result.events.back().name, "job_pack_relaxed");
  EXPECT_FALSE(fleet.place(never).has_value());
  EXPECT_TRUE(fleet.start(later));
  EXPECT_EQ(fleet.job(later).history.transitions[1].cause, "pack rack relaxed");
  fleet.log.state.check_everything();
  Result<State> copy = State::decode(fleet.log.state.encode());
  ASSERT_TRUE(copy.has_value());
  EXPECT_TRUE(copy->job(later)->life.is_relaxed);
}

}  // namespace
}  // namespace muster::scheduler
