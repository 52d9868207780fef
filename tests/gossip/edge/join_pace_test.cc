// Tickets are let in at a pace, each address at its own.

#include "gossip/edge/join_pace.h"

#include <gtest/gtest.h>

namespace muster::gossip {
namespace {

constexpr Instant kStart{std::chrono::hours(1)};

/// The number of `tries` at one moment that are let in.
int let_in(JoinPace& pace, const std::string& address, Instant now, int tries = 100) {
  int count = 0;
  for (int i = 0; i < tries; ++i) {
    count += pace.take(address, now) ? 1 : 0;
  }
  return count;
}

TEST(JoinPace, AnAddressHasASecondsWorthAtOnceAndThenItsPace) {
  JoinPace pace;
  EXPECT_EQ(let_in(pace, "10.0.0.1", kStart), kJoinsASecond);
  int later = 0;
  for (int ms = 50; ms <= 5000; ms += 50) {
    later += let_in(pace, "10.0.0.1", kStart + std::chrono::milliseconds(ms));
  }
  EXPECT_EQ(later, 5 * kJoinsASecond);
}

TEST(JoinPace, OneAddressDoesNotHoldUpAnother) {
  JoinPace pace;
  let_in(pace, "10.0.0.1", kStart);
  EXPECT_EQ(let_in(pace, "10.0.0.2", kStart), kJoinsASecond);
  EXPECT_EQ(let_in(pace, "10.0.0.1", kStart), 0);
}

TEST(JoinPace, AHerdFromManyAddressesIsLetIn) {
  JoinPace pace;
  for (int i = 0; i < 300; ++i) {
    EXPECT_TRUE(pace.take("10.0.1." + std::to_string(i), kStart));
  }
}

/// An address is forgotten no sooner than its pace would let it in.
TEST(JoinPace, ToBeForgottenTakesTheSecondThatItWouldTakeAnyway) {
  JoinPace pace;
  pace.take("10.0.0.2", kStart);
  EXPECT_EQ(let_in(pace, "10.0.0.1", kStart + std::chrono::milliseconds(990)), kJoinsASecond);
  for (int ms = 1000; ms < 1990; ms += 99) {
    const Instant now = kStart + std::chrono::milliseconds(ms);
    EXPECT_LE(let_in(pace, "10.0.0.1", now), 1) << ms;
  }
}

TEST(JoinPace, AddressesAreLimited) {
  JoinPace pace;
  for (std::size_t i = 0; i < JoinPace::kAddressesMax; ++i) {
    EXPECT_TRUE(pace.take(std::to_string(i), kStart));
  }
  EXPECT_FALSE(pace.take("one more", kStart));
  EXPECT_TRUE(pace.take("0", kStart)) << "it is known";
  EXPECT_TRUE(pace.take("one more", kStart + std::chrono::seconds(1)));
}

}  // namespace
}  // namespace muster::gossip
