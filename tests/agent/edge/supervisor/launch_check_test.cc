// When a host says that it can start nothing, and when it tries again.

#include "agent/edge/supervisor/launch_check.h"

#include <gtest/gtest.h>

namespace muster::agent {
namespace {

using namespace std::chrono_literals;  // NOLINT: literals only.

constexpr Instant kNow{1h};
constexpr DiskReserve kNoReserve{0, 0, 0};
constexpr DiskReserve kAllOfIt{UINT64_MAX, 100, 0};

TEST(LaunchCheck, IsWellWhereThereIsRoom) {
  LaunchCheck check("/tmp", kNoReserve);
  check.look(kNow);
  EXPECT_EQ(check.why_not(), "");
  EXPECT_EQ(check.take_change(), std::nullopt);
  EXPECT_FALSE(check.begin_trial(kNow + 1h));
}

TEST(LaunchCheck, TellsOfALowDiskOnceAndTriesNothingMeanwhile) {
  LaunchCheck check("/tmp", kAllOfIt);
  check.look(kNow);
  const auto told = check.take_change();
  ASSERT_TRUE(told.has_value());
  EXPECT_TRUE(told->starts_with("disk: ")) << *told;
  check.look(kNow + 1min);
  EXPECT_EQ(check.take_change(), std::nullopt) << "its numbers change all the time";
  check.failed(kNow, "no process");
  EXPECT_FALSE(check.begin_trial(kNow + 1h));
}

TEST(LaunchCheck, AfterAFailureATrialSaysWhenItIsOver) {
  LaunchCheck check("/tmp", kNoReserve);
  check.failed(kNow, "no process");
  EXPECT_EQ(check.take_change(), "no process");
  EXPECT_FALSE(check.begin_trial(kNow));
  EXPECT_TRUE(check.begin_trial(kNow + kTrialPause));
  EXPECT_FALSE(check.begin_trial(kNow + kTrialPause)) << "one at a time";
  check.failed(kNow + kTrialPause, "no descriptor");
  EXPECT_EQ(check.take_change(), std::nullopt) << "the first reason stays";
  EXPECT_TRUE(check.begin_trial(kNow + 2 * kTrialPause));
  check.worked();
  EXPECT_EQ(check.take_change(), "");
  EXPECT_FALSE(check.begin_trial(kNow + 1h));
}

}  // namespace
}  // namespace muster::agent
