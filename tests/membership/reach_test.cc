#include "membership/reach.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>

namespace muster::membership {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

HostId id_of(std::size_t host) {
  std::array<std::uint8_t, HostId::kSizeBytes> bytes{};
  bytes[0] = static_cast<std::uint8_t>(1 + host / 256);
  bytes[1] = static_cast<std::uint8_t>(host % 256);
  return HostId(bytes);
}

/// Hosts that answer 1 ms after they are asked, but for the deaf ones.
class ReachTest : public testing::Test {
 protected:
  void pass(Duration time) {
    const Instant end = now_ + time;
    take();
    while (reach_.next_deadline() <= end) {
      now_ = std::max(now_, reach_.next_deadline());
      reach_.tick(now_);
      take();
      ASSERT_GT(reach_.next_deadline(), now_) << "it asks for the same moment again";
    }
    now_ = end;
  }
  void take() {
    const Reach::Output output = reach_.take_output();
    asked_ += output.asks.size();
    most_ = std::max(most_, output.asks.size());
    dropped_ += output.drop_links.size();
    changed_ += output.changed.size();
    for (const auto& [host, nonce] : output.asks) {
      last_ = nonce;
      if (!deaf_.contains(host)) {
        reach_.on_ack(now_ + milliseconds(1), host, nonce);
      }
    }
    changed_ += reach_.take_output().changed.size();
  }

  Instant now_ = Instant() + seconds(1000);
  HostId self_ = id_of(0);
  Reach reach_{self_, Rng(1)};
  std::set<HostId> deaf_;
  Nonce last_;
  std::size_t asked_ = 0;
  std::size_t most_ = 0;  ///< In one step.
  std::size_t dropped_ = 0;
  std::size_t changed_ = 0;
};

TEST_F(ReachTest, WhoDoesNotDecideAsksNobodyAndDoubtsSuspects) {
  reach_.doubt(now_, id_of(1), Doubt::kSuspect);
  reach_.doubt(now_, id_of(2), Doubt::kCut);
  pass(seconds(10));
  EXPECT_EQ(asked_, 0U);
  EXPECT_FALSE(reach_.answers(id_of(1)));
  EXPECT_TRUE(reach_.answers(id_of(2)));
  EXPECT_TRUE(reach_.answers(id_of(3)));
}

TEST_F(ReachTest, ASuspectThatAnswersIsReachedAtOnceAndADeafOneNever) {
  reach_.set_asking(now_, true);
  deaf_ = {id_of(2)};
  reach_.doubt(now_, id_of(1), Doubt::kSuspect);
  reach_.doubt(now_, id_of(2), Doubt::kSuspect);
  EXPECT_FALSE(reach_.answers(id_of(1)));
  take();
  EXPECT_TRUE(reach_.answers(id_of(1)));
  pass(seconds(20));
  EXPECT_FALSE(reach_.answers(id_of(2)));
  EXPECT_GE(dropped_, 3U) << "a dial that went into a cut is made anew";
  EXPECT_EQ(changed_, 1U);
}

TEST_F(ReachTest, AHostThatSeemsAliveIsLostAfterOneQuestionAndOneThatAnsweredAfterThreeSeconds) {
  reach_.set_asking(now_, true);
  deaf_ = {id_of(1)};
  reach_.doubt(now_, id_of(1), Doubt::kCut);
  reach_.doubt(now_, id_of(2), Doubt::kCut);
  pass(milliseconds(400));
  EXPECT_TRUE(reach_.answers(id_of(1)));
  pass(milliseconds(700));
  EXPECT_FALSE(reach_.answers(id_of(1)));
  EXPECT_TRUE(reach_.answers(id_of(2)));
  deaf_.insert(id_of(2));
  pass(milliseconds(2500));
  EXPECT_TRUE(reach_.answers(id_of(2)));
  pass(milliseconds(1500));
  EXPECT_FALSE(reach_.answers(id_of(2)));
}

TEST_F(ReachTest, WhoWasLostIsTrustedAgainAfterThreeSeconds) {
  reach_.set_asking(now_, true);
  deaf_ = {id_of(1)};
  reach_.doubt(now_, id_of(1), Doubt::kCut);
  pass(milliseconds(1100));
  ASSERT_FALSE(reach_.answers(id_of(1)));
  deaf_.clear();
  pass(milliseconds(1500));
  EXPECT_FALSE(reach_.answers(id_of(1)));
  pass(seconds(2));
  EXPECT_TRUE(reach_.answers(id_of(1)));
}

TEST_F(ReachTest, WhoLeavesTheLeaderWithoutAnAnswerIsDoubtedUntilItAnswers) {
  reach_.on_unanswered(now_, id_of(1));
  EXPECT_EQ(reach_.doubted(), 0U) << "only who leads asks for GPUs";
  reach_.set_asking(now_, true);
  deaf_ = {id_of(1)};
  reach_.on_unanswered(now_, id_of(1));
  reach_.on_unanswered(now_, id_of(2));
  reach_.on_unanswered(now_, self_);
  pass(seconds(60));
  EXPECT_FALSE(reach_.answers(id_of(1)));
  EXPECT_EQ(reach_.doubted(), 1U);
  reach_.doubt(now_, id_of(1), Doubt::kSuspect);
  reach_.doubt(now_, id_of(1), Doubt::kNone);
  EXPECT_FALSE(reach_.answers(id_of(1))) << "others may hear it; it is this host that does not";
  deaf_.clear();
  pass(seconds(1));
  EXPECT_TRUE(reach_.answers(id_of(1)));
  EXPECT_EQ(reach_.doubted(), 0U);
}

TEST_F(ReachTest, WhoHasAVerdictIsAskedNoMore) {
  reach_.set_asking(now_, true);
  deaf_ = {id_of(1), id_of(2)};
  reach_.on_unanswered(now_, id_of(1));
  reach_.doubt(now_, id_of(2), Doubt::kSuspect);
  pass(seconds(2));
  reach_.doubt(now_, id_of(1), Doubt::kGone);
  reach_.doubt(now_, id_of(2), Doubt::kGone);
  asked_ = 0;
  pass(seconds(10));
  EXPECT_EQ(asked_, 0U);
  EXPECT_EQ(reach_.doubted(), 0U);
}

TEST_F(ReachTest, AnOldAnswerIsNoAnswer) {
  reach_.set_asking(now_, true);
  deaf_ = {id_of(1)};
  reach_.doubt(now_, id_of(1), Doubt::kSuspect);
  take();
  const Nonce old = last_;
  pass(seconds(4));
  reach_.on_ack(now_, id_of(1), old);
  reach_.on_ack(now_, id_of(1), Nonce());
  reach_.on_ack(now_, id_of(2), last_);
  EXPECT_FALSE(reach_.answers(id_of(1)));
  reach_.on_ack(now_, id_of(1), last_);
  EXPECT_TRUE(reach_.answers(id_of(1)));
}

TEST_F(ReachTest, APauseOfItsOwnSaysNothing) {
  reach_.set_asking(now_, true);
  reach_.doubt(now_, id_of(1), Doubt::kCut);
  pass(seconds(2));
  deaf_ = {id_of(1)};
  pass(milliseconds(2900));
  reach_.paused();
  pass(milliseconds(2000));
  EXPECT_TRUE(reach_.answers(id_of(1)));
}

TEST_F(ReachTest, WhoLeadsNoMoreForgetsWhatItFound) {
  reach_.set_asking(now_, true);
  reach_.doubt(now_, id_of(1), Doubt::kSuspect);
  reach_.on_unanswered(now_, id_of(2));
  take();
  ASSERT_TRUE(reach_.answers(id_of(1)));
  changed_ = 0;
  reach_.set_asking(now_, false);
  take();
  EXPECT_GE(changed_, 1U);
  EXPECT_FALSE(reach_.answers(id_of(1)));
  EXPECT_EQ(reach_.next_deadline(), kNever);
}

TEST_F(ReachTest, ManyAreAskedInSlices) {
  for (std::size_t host = 1; host <= 10000; ++host) {
    reach_.doubt(now_, id_of(host), Doubt::kCut);
  }
  reach_.set_asking(now_, true);
  pass(seconds(30));
  EXPECT_LE(most_, kAsksASlice);
  EXPECT_GE(asked_, 3U * 10000U);
  for (std::size_t host = 1; host <= 10000; ++host) {
    ASSERT_TRUE(reach_.answers(id_of(host))) << host;
  }
}

}  // namespace
}  // namespace muster::membership
