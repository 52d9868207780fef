// Tests of Lag: the worst delay of about the last second.

#include "gossip/base/lag.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

using std::chrono::milliseconds;

TEST(Lag, TheWorstIsKeptForASecondAndNoLonger) {
  Lag lag;
  Instant now{std::chrono::hours(1)};
  EXPECT_EQ(lag.worst(now), Duration(0));
  lag.saw(now, milliseconds(30));
  lag.saw(now + milliseconds(1), milliseconds(10));
  EXPECT_EQ(lag.worst(now + milliseconds(2)), milliseconds(30));
  lag.saw(now + milliseconds(600), milliseconds(20));
  EXPECT_EQ(lag.worst(now + milliseconds(600)), milliseconds(30));
  EXPECT_EQ(lag.worst(now + milliseconds(1200)), milliseconds(20));
  EXPECT_EQ(lag.worst(now + milliseconds(5000)), Duration(0));
}

}  // namespace
}  // namespace muster
