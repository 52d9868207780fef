// When a host says that it can start nothing, and when it tries again.

#include "agent/edge/supervisor/launch_check.h"

#include <gtest/gtest.h>

namespace muster::agent {
namespace {

using namespace std::chrono_literals;  // NOLINT: literals only.

constexpr Instant kNoon{1h};
constexpr DiskReserve kNoReserve{0, 0, 0};
constexpr DiskReserve kAllOfIt{UINT64_MAX, 100, 0};

TEST(LaunchCheck, IsWellWhereThereIsRoom) {
  LaunchCheck check("/tmp", kNoReserve);
  check.look(kNoon);
  EXPECT_EQ(check.why_not(), "");
  EXPECT_EQ(check.take_change(), std::nullopt);
  EXPECT_FALSE(check.begin_trial(kNoon + 1h));
}

TEST(LaunchCheck, TellsOfALowDiskOnceAndTriesNothingMeanwhile) {
  LaunchCheck check("/tmp", kAllOfIt);
  check.look(kNoon);
  const auto told = check.take_change();
  ASSERT_TRUE(told.has_value());
  EXPECT_TRUE(told->starts_with("disk: ")) << *told;
  check.look(kNoon + 1min);
  EXPECT_EQ(check.take_change(), std::nullopt) << "its numbers change all the time";
  check.failed(kNoon, "no process");
  EXPECT_FALSE(check.begin_trial(kNoon + 1h));
}

TEST(LaunchCheck, AHostThatIsUnfitSaysSoForEver) {
  LaunchCheck check("/tmp", kNoReserve, kTrialPause, "it lacks memory");
  EXPECT_EQ(check.take_change(), "it lacks memory");
  check.failed(kNoon, "no process");
  check.worked();
  EXPECT_EQ(check.take_change(), std::nullopt);
  EXPECT_EQ(check.why_not(), "it lacks memory");
}

TEST(LaunchCheck, AfterAFailureATrialSaysWhenItIsOver) {
  LaunchCheck check("/tmp", kNoReserve);
  check.failed(kNoon, "no process");
  EXPECT_EQ(check.take_change(), "no process");
  EXPECT_FALSE(check.begin_trial(kNoon));
  EXPECT_TRUE(check.begin_trial(kNoon + kTrialPause));
  EXPECT_FALSE(check.begin_trial(kNoon + kTrialPause)) << "one at a time";
  check.failed(kNoon + kTrialPause, "no descriptor");
  EXPECT_EQ(check.take_change(), std::nullopt) << "the first reason stays";
  EXPECT_TRUE(check.begin_trial(kNoon + 2 * kTrialPause));
  check.worked();
  EXPECT_EQ(check.take_change(), "");
  EXPECT_FALSE(check.begin_trial(kNoon + 1h));
}

}  // namespace
}  // namespace muster::agent
