// The start that a job which does not fit is sure of, from the time limits of what runs.

#include "scheduler/policy/start_plan.h"

#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <string>
#include <vector>

#include "gossip/base/rng.h"
#include "tests/scheduler/policy/queued_log.h"

namespace muster::scheduler {
namespace {

using namespace testing;  // NOLINT: the domain's verbs
using std::chrono::minutes;

constexpr Duration kGrace = std::chrono::seconds(10);

class StartPlans : public ::testing::Test, protected QueuedLog {
 protected:
  /// A host with four GPUs.
  void host(std::uint64_t number, const std::string& rack = "") {
    entry::Register fact = registration(number, 4);
    fact.traits.rack = rack;
    apply(fact);
  }
  JobSpec spec(std::uint32_t gpus, Duration limit) {
    JobSpec spec = spec_of(gpus);
    spec.limits.time_limit = limit;
    spec.limits.grace = kGrace;
    return spec;
  }
  /// Runs there on so many GPUs from that one on, from now until its limit at the latest.
  Token runs(std::uint64_t host, std::uint32_t first, std::uint32_t gpus, Duration limit) {
    const Token token = log.run(submit(spec(gpus, limit)), {member_of(host, first, gpus)});
    EXPECT_EQ(log.state.attempt(token)->state, AttemptState::kStarted);
    return token;
  }
  std::optional<Duration> latest_end(const Token& token) const {
    const auto end = end_of(log.state, token, nullptr);
    return end.has_value() ? std::optional(end->latest) : std::nullopt;
  }
  std::optional<StartPlan> plan(JobId job, const PlanHosts& hosts = {}) {
    return plan_start(log.state, Capacity(log.state), *log.state.job(job), "h100", nullptr, hosts);
  }
};

TEST_F(StartPlans, WaitsForTheHostsThatAreFreeSoonest) {
  host(1);
  host(2);
  host(3);
  runs(1, 0, 4, minutes(10));
  runs(2, 0, 4, minutes(90));
  runs(3, 0, 4, minutes(60));
  const auto eight = plan(submit(spec(8, minutes(5))));
  ASSERT_TRUE(eight.has_value());
  EXPECT_EQ(eight->start, minutes(60) + kGrace);
  EXPECT_EQ(eight->hosts, (std::set{host_id(1), host_id(3)}));
  const auto four = plan(submit(spec(4, minutes(5))));
  EXPECT_EQ(four->start, minutes(10) + kGrace);
  EXPECT_EQ(four->hosts, std::set{host_id(1)});
}

TEST_F(StartPlans, APartOfAHostCountsFromTheTimeAtWhichItIsFree) {
  host(1);
  host(2);
  runs(1, 0, 1, minutes(10));
  runs(1, 1, 1, minutes(20));
  runs(2, 0, 4, minutes(90));
  const auto three = plan(submit(spec(3, minutes(5))));
  EXPECT_EQ(three->start, minutes(10) + kGrace) << "two GPUs of host 1 are free now";
  const auto five = plan(submit(spec(5, minutes(5))));
  EXPECT_EQ(five->start, minutes(90) + kGrace);
  EXPECT_EQ(five->hosts.size(), 2U);
}

TEST_F(StartPlans, AnAttemptWithoutALimitHoldsForEver) {
  host(1);
  host(2);
  runs(1, 0, 1, Duration::zero());
  runs(2, 0, 4, minutes(30));
  EXPECT_FALSE(plan(submit(spec(8, minutes(5)))).has_value());
  const auto seven = plan(submit(spec(7, minutes(5))));
  ASSERT_TRUE(seven.has_value());
  EXPECT_EQ(seven->start, minutes(30) + kGrace);
}

TEST_F(StartPlans, HostsThatAreKeptForOthersAreLeftAlone) {
  host(1);
  host(2);
  runs(1, 0, 4, minutes(10));
  runs(2, 0, 4, minutes(90));
  const JobId job = submit(spec(4, minutes(5)));
  EXPECT_EQ(plan(job, {nullptr, {host_id(1)}})->hosts, std::set{host_id(2)});
  const std::set<HostId> only = {host_id(2)};
  EXPECT_EQ(plan(job, {&only, {}})->start, minutes(90) + kGrace);
  EXPECT_FALSE(plan(job, {&only, only}).has_value());
}

TEST_F(StartPlans, AGangInOneRackWaitsForThatRack) {
  host(1, "r1");
  host(2, "r2");
  host(3, "r2");
  host(4);
  runs(2, 0, 4, minutes(40));
  JobSpec gang = spec(8, minutes(5));
  gang.request.pack = Pack::kRack;
  const auto plan_of_gang = plan(submit(gang));
  ASSERT_TRUE(plan_of_gang.has_value());
  EXPECT_EQ(plan_of_gang->start, minutes(40) + kGrace);
  EXPECT_EQ(plan_of_gang->hosts, (std::set{host_id(2), host_id(3)}));
}

TEST_F(StartPlans, EndsFollowFromTheState) {
  host(1);
  apply(entry::Tick{minutes(3)});
  const JobId job = submit(spec(1, minutes(10)));
  decide(job, {member_of(1, 0, 1)});
  const Token token = log.state.job(job)->life.current;
  const Attempt& attempt = *log.state.attempt(token);
  EXPECT_EQ(latest_end(token), minutes(13) + attempt.deadline + kGrace);
  log.ready(token);
  apply(entry::Start{token});
  EXPECT_EQ(latest_end(token), minutes(13) + kGrace);
  apply(entry::Tick{minutes(30)});
  EXPECT_EQ(latest_end(token), minutes(33) + kGrace) << "it is over its limit, and runs";
  EXPECT_EQ(latest_end(Token{9, 9}), std::nullopt);
  const JobId other = submit(spec(1, minutes(10)));
  EXPECT_EQ(end_of_new(log.state, *log.state.job(other), minutes(1), nullptr)->latest,
            minutes(44) + kGrace);
}

TEST_F(StartPlans, RunsOfTheSameKindSayWhenAStartIsExpected) {
  host(1);
  host(2);
  runs(1, 0, 4, minutes(600));
  JobSpec other = spec(4, minutes(90));
  other.user = "bob";
  log.run(submit(other), {member_of(2, 0, 4)});
  const JobId job = submit(spec(4, minutes(5)));
  RunTimes known;
  const auto plan_of = [&] {
    return *plan_start(log.state, Capacity(log.state), *log.state.job(job), "h100", &known);
  };
  EXPECT_EQ(plan_of().hosts, std::set{host_id(2)}) << "half a limit, if no more is known";
  EXPECT_EQ(plan_of().expected, minutes(45));
  for (std::uint32_t i = 0; i < kRunsEnough; ++i) {
    known.learn(spec(4, minutes(600)), minutes(10));
    known.learn(other, minutes(80));
  }
  EXPECT_EQ(plan_of().hosts, std::set{host_id(1)});
  EXPECT_GE(plan_of().expected, minutes(10));
  EXPECT_LE(plan_of().expected, minutes(13));
  EXPECT_EQ(plan_of().start, minutes(600) + kGrace);
}

/// The law of a plan: once all that has an end on its hosts has ended, the job fits there; and
/// before the last of those ends it does not fit on any hosts.
TEST_F(StartPlans, ThePlanIsTheFirstTimeAtWhichTheJobFits) {
  Rng rng(7);
  for (std::uint64_t number = 1; number <= 6; ++number) {
    host(number);
    for (std::uint32_t gpu = 0; gpu < 4; ++gpu) {
      if (rng.below(4) != 0) {
        runs(number, gpu, 1, minutes(rng.below(8) * 10));
      }
    }
  }
  const auto fits = [&](JobId job, Duration at, const std::set<HostId>& hosts) {
    std::uint32_t free = 0;
    for (const auto& [id, record] : log.state.hosts()) {
      std::set<Token> ended;
      for (const Token& token : log.state.gpus().on(id).tokens) {
        const auto end = latest_end(token);
        if (end.has_value() && *end <= at) {
          ended.insert(token);
        }
      }
      const auto space = Capacity(log.state).free_without(log.state, id, ended);
      free += hosts.contains(id) ? space->free_gpus() : 0;
    }
    return free >= log.state.job(job)->spec.request.gpus;
  };
  std::set<HostId> all;
  for (const auto& [id, record] : log.state.hosts()) {
    all.insert(id);
  }
  int planned = 0;
  for (std::uint32_t gpus = 1; gpus <= 24; ++gpus) {
    const JobId job = submit(spec(gpus, minutes(5)));
    const auto its = plan(job);
    if (!its.has_value()) {
      EXPECT_FALSE(fits(job, std::chrono::hours(100), all)) << gpus;
      continue;
    }
    ++planned;
    EXPECT_TRUE(fits(job, its->start, its->hosts)) << gpus;
    EXPECT_FALSE(its->start > log.state.cluster_time() &&
                 fits(job, its->start - std::chrono::seconds(1), all))
        << gpus;
  }
  EXPECT_GT(planned, 10);
}

}  // namespace
}  // namespace muster::scheduler
