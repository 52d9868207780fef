// Reads of clients and rounds of the scheduler, in one numbering.

#include "scheduler/seat/seat_reads.h"

#include <gtest/gtest.h>

namespace muster::scheduler {
namespace {

TEST(SeatReads, AReadEndsOnceForWhomItWasBegun) {
  SeatReads reads;
  const std::uint64_t round = reads.begin({false, 7});
  const std::uint64_t asked = reads.begin({true, 7});
  const auto owner = reads.end(asked);
  ASSERT_TRUE(owner.has_value());
  EXPECT_TRUE(owner->is_client);
  EXPECT_EQ(owner->id, 7U);
  EXPECT_FALSE(reads.end(asked).has_value());
  EXPECT_FALSE(reads.end(round).value().is_client);
}

TEST(SeatReads, WhatWasGivenUpEndsNoLaterRead) {
  SeatReads reads;
  const std::uint64_t old = reads.begin({true, 3});
  reads.begin({false, 4});
  reads.begin({true, 5});
  EXPECT_EQ(reads.give_up(), (std::vector<std::uint64_t>{3, 5})) << "the scheduler asks again";
  EXPECT_TRUE(reads.give_up().empty());
  EXPECT_GT(reads.begin({true, 6}), old + 2);
  EXPECT_FALSE(reads.end(old).has_value());
}

}  // namespace
}  // namespace muster::scheduler
