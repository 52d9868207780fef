// The machines that wait for the writes of a seat.

#include "scheduler/seat/seat_writes.h"

#include <gtest/gtest.h>

namespace muster::scheduler {
namespace {

using Machine = SeatWrites::Machine;

TEST(SeatWrites, WhatALogThatWasLeftWroteEndsForNobody) {
  SeatWrites writes;
  const std::uint64_t of_raft = writes.begin({Machine::kRaft, 8});
  const std::uint64_t of_quorum = writes.begin({Machine::kFirstQuorum, 9});
  EXPECT_EQ(of_quorum, of_raft + 1);
  writes.leave_raft();
  const std::uint64_t of_next = writes.begin({Machine::kRaft, 1});
  EXPECT_EQ(writes.end(of_raft).machine, Machine::kNobody);
  EXPECT_EQ(writes.end(of_quorum).id, 9U);
  EXPECT_EQ(writes.end(of_next).machine, Machine::kRaft);
}

TEST(SeatWritesDeathTest, AWriteEndsOnce) {
  SeatWrites writes;
  const std::uint64_t number = writes.begin({Machine::kRecovery, 0});
  writes.end(number);
  EXPECT_DEATH(writes.end(number), "");
}

}  // namespace
}  // namespace muster::scheduler
