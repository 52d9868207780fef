#include "agent/edge/run/loop_share.h"

#include <gtest/gtest.h>

#include <chrono>

namespace muster::agent {
namespace {

using namespace std::chrono_literals;  // NOLINT: literals only.

TEST(LoopShare, EachPieceIsFollowedByARestOfTwiceItsTime) {
  LoopShare share;
  EXPECT_LE(share.next(), Instant(1h));
  share.took(Instant(1h), 10ms);
  EXPECT_EQ(share.next(), Instant(1h) + 20ms);
}

TEST(LoopShare, PiecesThatEndTogetherRestOneBehindTheOther) {
  LoopShare share;
  for (int piece = 0; piece < 3; ++piece) {
    share.took(Instant(1h), 10ms);
  }
  EXPECT_EQ(share.next(), Instant(1h) + 60ms);
  share.took(Instant(1h) + 5s, 10ms);
  EXPECT_EQ(share.next(), Instant(1h) + 5s + 20ms) << "time without work is not saved up";
}

TEST(LoopShare, WorkHasAThirdOfTheLoopAtMost) {
  LoopShare share;
  Instant now(1h);
  Duration worked{0};
  while (now < Instant(2h)) {
    now = std::max(now, share.next());
    now += 7ms;
    share.took(now, 7ms);
    worked += 7ms;
  }
  EXPECT_LE(worked, 20min + 1s);
  EXPECT_GE(worked, 20min - 1s);
}

TEST(LoopShare, ARestHasAnEnd) {
  LoopShare share;
  share.took(Instant(1h), 1h);
  EXPECT_EQ(share.next(), Instant(1h) + LoopShare::kRestMax);
  LoopShare other;
  other.took(Instant(1h), -1ms);
  EXPECT_EQ(other.next(), Instant(1h));
}

}  // namespace
}  // namespace muster::agent
