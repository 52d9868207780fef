// Leader: the data that ends with a leadership and the data that outlives it, on one voter that
// leads, stops leading, and leads again.

#include "scheduler/leader/leader.h"

#include "tests/scheduler/leader/one_leader.h"

namespace muster::scheduler {
namespace {

using namespace testing;               // NOLINT: the fixture's verbs
using namespace std::chrono_literals;  // NOLINT

class Leadership : public OneLeader {
 protected:
  void lose() { give(input::LeadershipChanged{false, false}); }
};

TEST_F(Leadership, RoundOfAnEarlierOneConfirmsNothing) {
  const Token token = running_gang();
  forget();
  rounds.clear();
  answer_rounds = false;
  hear(1, Renew{pair_of(1), {token}}, Nonce(5));
  ASSERT_EQ(rounds.size(), 1U);
  const std::uint64_t old_round = rounds.back();
  lose();
  lead();
  hear(1, Renew{pair_of(1), {token}}, Nonce(6));
  ASSERT_EQ(rounds.size(), 2U);
  EXPECT_GT(rounds.back(), old_round);

  give(input::MajorityRound{old_round});
  EXPECT_TRUE(said<RenewAck>(1).empty()) << "it began before this leadership";
  give(input::MajorityRound{rounds.back()});
  EXPECT_EQ(said<RenewAck>(1).size(), 1U) << "the first renewal went with the first leadership";
}

TEST_F(Leadership, IsThereOnlyOnceItsOwnTermIsApplied) {
  lose();
  EXPECT_FALSE(scheduler.is_ready());
  give(input::LeadershipChanged{true, false});
  EXPECT_FALSE(scheduler.is_ready());
  EXPECT_EQ(scheduler.next_deadline(), kNever);
  give(input::ClientSubmit{++request, "a", spec_of(1), "alice"});
  EXPECT_EQ(replies.back().error->code, ErrorCode::kUnavailable);
  give(input::LeadershipChanged{true, true});
  EXPECT_TRUE(scheduler.is_ready());
}

TEST_F(Leadership, ClientsThatWaitWhenItEndsAreToldSo) {
  commit = false;
  give(input::ClientSubmit{++request, "a", spec_of(1), "alice"});
  EXPECT_TRUE(replies.empty());
  lose();
  ASSERT_EQ(replies.size(), 1U);
  EXPECT_EQ(replies.back().error->code, ErrorCode::kUnknown);
  lead();
  lose();
  EXPECT_EQ(replies.size(), 1U) << "once";
}

TEST_F(Leadership, WhatWasDroppedStaysCounted) {
  const std::uint64_t before = scheduler.dropped_count();
  hear(1, Ready{Token(), pair_of(1), {}});
  lose();
  hear(1, Ready{Token(), pair_of(1), {}});
  lead();
  hear(1, Ready{Token(), pair_of(1), {}});
  EXPECT_EQ(scheduler.dropped_count(), before + 3);
}

TEST_F(Leadership, AgentsAreToldAnewWhatTheLogWants) {
  running_gang();
  lose();
  forget();
  pass(1h);
  EXPECT_TRUE(messages.empty());
  lead();
  EXPECT_EQ(said<Start>(1).size(), 1U);
  EXPECT_EQ(said<Start>(2).size(), 1U);
}

}  // namespace
}  // namespace muster::scheduler
