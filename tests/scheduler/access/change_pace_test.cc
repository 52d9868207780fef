// Each user has a burst and a pace of changes, and all users have one together.

#include "scheduler/access/change_pace.h"

#include <gtest/gtest.h>

namespace muster::scheduler {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Instant kBegin{std::chrono::hours(1)};
constexpr ChangeLimits kLimits{{100, 1000}, {5000, 5000}, {10, 40}};

Subject person(const std::string& user) {
  return {user + "@login", user, HostId(), AccessTokenId(), std::nullopt};
}

/// The number of `tries` at one moment that are taken.
int taken(ChangePace& pace, const Subject& by, Instant now, int tries) {
  int count = 0;
  for (int i = 0; i < tries; ++i) {
    count += pace.take(kLimits, by, now).has_value() ? 0 : 1;
  }
  return count;
}

TEST(ChangePace, AUserHasABurstThenAPaceAndIsToldWhenToComeAgain) {
  ChangePace pace;
  EXPECT_EQ(taken(pace, person("ann"), kBegin, 2000), 1000);
  EXPECT_EQ(pace.take(kLimits, person("ann"), kBegin),
            (ChangePace::Wait{milliseconds(10), ChangePace::Limit::kOfUser}));
  EXPECT_EQ(pace.take(kLimits, person("ann"), kBegin + milliseconds(10)), std::nullopt);
  EXPECT_EQ(taken(pace, person("ann"), kBegin + milliseconds(10) + seconds(1), 2000), 100);
  EXPECT_EQ(taken(pace, person("ann"), kBegin + seconds(60), 2000), 1000) << "after a rest";
}

TEST(ChangePace, AnotherUserIsNotHeldUp) {
  ChangePace pace;
  taken(pace, person("ann"), kBegin, 2000);
  EXPECT_EQ(taken(pace, person("ben"), kBegin, 2000), 1000);
}

TEST(ChangePace, AllTogetherHaveALimit) {
  ChangePace pace;
  int sum = 0;
  for (int user = 0; user < 10; ++user) {
    sum += taken(pace, person("user" + std::to_string(user)), kBegin, 1000);
  }
  EXPECT_EQ(sum, 5000);
  EXPECT_GT(pace.take(kLimits, person("new"), kBegin).value().time, Duration(0));
  EXPECT_EQ(pace.take(kLimits, person("new"), kBegin + milliseconds(1)), std::nullopt);
}

TEST(ChangePace, ChangesWithoutAUserCountAmongAllAlone) {
  ChangePace pace;
  EXPECT_EQ(taken(pace, {"host a"}, kBegin, 6000), 5000);
  EXPECT_EQ(pace.size(), 0U);
}

TEST(ChangePace, AQueueHasAPaceOfItsOwnAcrossUsers) {
  ChangePace pace;
  int taken_of_nlp = 0;
  for (int i = 0; i < 60; ++i) {
    const Subject by = person("user" + std::to_string(i % 7));
    taken_of_nlp += pace.take(kLimits, by, kBegin, "nlp").has_value() ? 0 : 1;
  }
  EXPECT_EQ(taken_of_nlp, 40);
  EXPECT_EQ(pace.take(kLimits, person("ann"), kBegin, "nlp"),
            (ChangePace::Wait{milliseconds(100), ChangePace::Limit::kOfQueue}));
  EXPECT_EQ(pace.take(kLimits, person("user1"), kBegin, "vision"), std::nullopt);
  EXPECT_EQ(pace.take(kLimits, person("user1"), kBegin), std::nullopt) << "no submit";
  EXPECT_EQ(pace.take(kLimits, person("ann"), kBegin + milliseconds(100), "nlp"), std::nullopt);
}

TEST(ChangePace, NamesWithoutEndTakeNoMemory) {
  ChangePace pace;
  for (std::size_t i = 0; i < 2 * ChangePace::kUsersMax; ++i) {
    pace.take(kLimits, person(std::to_string(i)), kBegin + i * milliseconds(1) / 8);
  }
  EXPECT_LE(pace.size(), ChangePace::kUsersMax);
  EXPECT_EQ(pace.take(kLimits, person("ann"), kBegin + seconds(60)), std::nullopt);
  EXPECT_EQ(pace.size(), 1U) << "those before were forgotten";
}

}  // namespace
}  // namespace muster::scheduler
