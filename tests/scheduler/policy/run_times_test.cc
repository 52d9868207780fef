// Predictions of run times from those of jobs of the same kind.

#include "scheduler/policy/run_times.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "gossip/base/rng.h"
#include "tests/scheduler/state/cluster.h"

namespace muster::scheduler {
namespace {

using namespace testing;  // NOLINT: the domain's verbs
using std::chrono::hours;
using std::chrono::minutes;

JobSpec job_of(const std::string& user, const std::string& program, std::uint32_t gpus,
               Duration limit = Duration::zero()) {
  JobSpec spec = spec_of(gpus);
  spec.user = user;
  spec.command.argv = {program};
  spec.limits.time_limit = limit;
  return spec;
}

void learn(RunTimes& times, const JobSpec& spec, Duration run, std::uint32_t count = kRunsEnough) {
  for (std::uint32_t i = 0; i < count; ++i) {
    times.learn(spec, run);
  }
}

/// Rounded up to a bucket.
void expect_about(Duration predicted, Duration run) {
  EXPECT_GE(predicted, run);
  EXPECT_LE(predicted, run + run / 4 + std::chrono::seconds(1));
}

/// The law of the histogram: a quantile is that of the runs themselves, rounded up to a bucket.
TEST(RunHistogram, AQuantileIsThatOfTheRuns) {
  Rng rng(3);
  for (int round = 0; round < 50; ++round) {
    RunHistogram histogram;
    std::vector<Duration> runs(1 + rng.below(200));
    for (Duration& run : runs) {
      run = std::chrono::seconds(1 + rng.below(500'000));
      histogram.add(run);
    }
    std::sort(runs.begin(), runs.end());
    for (const std::uint32_t percent : {10U, 50U, 90U}) {
      const std::size_t place = (runs.size() * percent + 99) / 100;
      expect_about(*histogram.quantile(percent, Duration::zero()), runs[place - 1]);
    }
  }
}

TEST(RunHistogram, OnlyLongerRunsCountForOneThatRuns) {
  RunHistogram histogram;
  for (int i = 0; i < 9; ++i) {
    histogram.add(minutes(10));
  }
  histogram.add(hours(5));
  expect_about(*histogram.quantile(50, Duration::zero()), minutes(10));
  expect_about(*histogram.quantile(50, minutes(60)), hours(5));
  EXPECT_EQ(histogram.quantile(50, hours(20)), std::nullopt);
}

TEST(RunHistogram, NewRunsCountMore) {
  RunHistogram histogram;
  for (std::uint32_t i = 0; i < kRunsMax - 1; ++i) {
    histogram.add(hours(10));
  }
  for (std::uint32_t i = 0; i < kRunsMax / 2 + 2; ++i) {
    histogram.add(minutes(1));
  }
  expect_about(*histogram.quantile(50, Duration::zero()), minutes(1));
  EXPECT_LT(histogram.runs(), kRunsMax);
}

TEST(RunTimes, TheClosestKindThatIsKnownCounts) {
  RunTimes times;
  EXPECT_EQ(times.predicted(job_of("ann", "train", 8), 90, Duration::zero()), minutes(10));
  EXPECT_EQ(times.predicted(job_of("ann", "train", 8, hours(4)), 90, Duration::zero()), hours(2));
  learn(times, job_of("bob", "other", 1), minutes(7));
  expect_about(times.predicted(job_of("ann", "train", 8), 90, Duration::zero()), minutes(7));
  learn(times, job_of("bob", "other", 8), minutes(20));
  expect_about(times.predicted(job_of("ann", "train", 8), 90, Duration::zero()), minutes(20));
  learn(times, job_of("ann", "other", 8), minutes(90));
  expect_about(times.predicted(job_of("ann", "train", 8), 90, Duration::zero()), minutes(90));
  learn(times, job_of("ann", "train", 8), hours(9), kRunsEnough - 1);
  expect_about(times.predicted(job_of("ann", "train", 8), 20, Duration::zero()), minutes(90));
  learn(times, job_of("ann", "train", 8), hours(9), 1);
  expect_about(times.predicted(job_of("ann", "train", 8), 20, Duration::zero()), hours(9));
}

TEST(RunTimes, NoPredictionIsAboveTheLimitOrBelowTheAge) {
  RunTimes times;
  learn(times, job_of("ann", "train", 8), hours(9));
  EXPECT_EQ(times.predicted(job_of("ann", "train", 8, hours(3)), 90, Duration::zero()), hours(3));
  EXPECT_EQ(times.predicted(job_of("ann", "train", 8), 90, hours(20)), hours(40) + minutes(10));
  EXPECT_EQ(times.predicted(job_of("ann", "train", 8, hours(24)), 90, hours(20)), hours(24));
}

TEST(RunTimes, KindsAreBounded) {
  RunTimes times;
  const JobSpec used = job_of("ann", "train", 8);
  learn(times, used, hours(9));
  for (std::uint32_t user = 0; user < 2 * kRunKindsMax; ++user) {
    times.learn(job_of("user" + std::to_string(user), "once", 8), minutes(1));
    if (user % 100 == 0) {
      times.learn(used, hours(9));
    }
  }
  EXPECT_LE(times.kinds(), kRunKindsMax);
  expect_about(times.predicted(used, 90, Duration::zero()), hours(9));
}

TEST(RunTimes, AJobThatCompletesIsLearnedOnceAndOneThatFailsIsNot) {
  Log log;
  RunTimes times;
  log.apply(registration(1, 4));
  for (std::uint32_t i = 0; i < 2 * kRunsEnough; ++i) {
    const Token token = log.run(log.submit(1), {member_of(1, 0, 1)});
    log.apply(entry::Tick{minutes(30)});
    const Attempt& attempt = *log.state.attempt(token);
    const Member member = attempt.members.front().member;
    const std::int32_t code = i % 2 == 0 ? 0 : 1;
    const ApplyResult result =
        log.apply(entry::Finish{token, host_id(1), member.start, results_of(member, code, false)});
    for (const Token& touched : result.touched) {
      times.on_touched(log.state, touched);
      times.on_touched(log.state, token);
    }
    log.apply(entry::Tick{minutes(1)});
    times.on_touched(log.state, token);
  }
  RunTimes rebuilt;
  rebuilt.rebuild(log.state);
  for (RunTimes* each : {&times, &rebuilt}) {
    expect_about(each->predicted(spec_of(1), 90, Duration::zero()), minutes(30));
  }
}

}  // namespace
}  // namespace muster::scheduler
