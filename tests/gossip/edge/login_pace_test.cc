// Each login has a burst and a pace of its own; root and the agent's own user have none.

#include "gossip/edge/login_pace.h"

#include <gtest/gtest.h>

namespace muster::gossip {
namespace {

constexpr Instant kBegin{std::chrono::hours(1)};
constexpr LoginPace::Rate kRate{100, 400};
constexpr std::uint32_t kAgentUid = 900;
constexpr std::uint32_t kAnnUid = 1000;
constexpr std::uint32_t kBenUid = 1001;

/// The number of `tries` at one moment that are taken.
std::int64_t taken(LoginPace& pace, std::uint32_t uid, Instant now, int tries = 1000) {
  std::int64_t count = 0;
  for (int i = 0; i < tries; ++i) {
    count += pace.take(uid, now) ? 1 : 0;
  }
  return count;
}

TEST(LoginPace, ALoginHasItsBurstAtOnceAndThenItsPace) {
  LoginPace pace(kAgentUid, kRate);
  EXPECT_EQ(taken(pace, kAnnUid, kBegin), kRate.burst);
  EXPECT_EQ(taken(pace, kAnnUid, kBegin + std::chrono::seconds(1)), kRate.per_second);
  EXPECT_EQ(taken(pace, kAnnUid, kBegin + std::chrono::seconds(3)), 2 * kRate.per_second);
  EXPECT_EQ(taken(pace, kAnnUid, kBegin + std::chrono::minutes(1)), kRate.burst);
}

TEST(LoginPace, OneLoginDoesNotHoldUpAnother) {
  LoginPace pace(kAgentUid, kRate);
  taken(pace, kAnnUid, kBegin);
  EXPECT_EQ(taken(pace, kBenUid, kBegin), kRate.burst);
  EXPECT_EQ(taken(pace, kAnnUid, kBegin), 0);
}

TEST(LoginPace, RootAndTheOwnUserHaveNone) {
  LoginPace pace(kAgentUid, kRate);
  EXPECT_EQ(taken(pace, 0, kBegin), 1000);
  EXPECT_EQ(taken(pace, kAgentUid, kBegin), 1000);
  EXPECT_EQ(pace.size(), 0U);
}

TEST(LoginPace, LoginsWithoutEndTakeNoMemory) {
  LoginPace pace(kAgentUid, kRate);
  for (std::uint32_t uid = kAnnUid; uid < kAnnUid + 3 * LoginPace::kLoginsMax; ++uid) {
    pace.take(uid, kBegin);
  }
  EXPECT_EQ(pace.size(), LoginPace::kLoginsMax);
  EXPECT_TRUE(pace.take(kAnnUid, kBegin)) << "a login that is known goes on";
  EXPECT_FALSE(pace.take(5, kBegin));
  EXPECT_TRUE(pace.take(5, kBegin + std::chrono::seconds(2))) << "those before were forgotten";
  EXPECT_EQ(pace.size(), 1U);
}

}  // namespace
}  // namespace muster::gossip
