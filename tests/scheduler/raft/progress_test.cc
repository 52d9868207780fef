// Goal: each part of a snapshot is on its way once, whatever becomes of the answers. Method: one
// follower, its answers played by the test.

#include "scheduler/raft/progress.h"

#include <gtest/gtest.h>

namespace muster::scheduler {
namespace {

constexpr std::size_t kWindow = 16;
constexpr std::uint64_t kPart = 10;

class SnapshotProgress : public testing::Test {
 protected:
  SnapshotProgress() {
    Snapshot snapshot;
    snapshot.at = {kAt, Term(1)};
    snapshot.state = std::string(5 * kPart, 's');
    progress_.begin_snapshot(std::make_shared<const Snapshot>(std::move(snapshot)));
  }
  /// The part sent if one may be sent now: its offset, in parts.
  std::optional<std::uint64_t> sent() {
    if (!progress_.may_send(kWindow)) {
      return std::nullopt;
    }
    progress_.on_chunk_sent(now_, ++request_);
    return progress_.snapshot_offset() / kPart;
  }
  void wants(std::uint64_t part, std::uint64_t request) {
    progress_.on_chunk_wanted(request, kAt, part * kPart);
  }

  static constexpr LogIndex kAt{100};
  Instant now_ = Instant{} + std::chrono::seconds(1);
  Progress progress_{LogIndex(1), now_};
  std::uint64_t request_ = 0;
};

TEST_F(SnapshotProgress, TheBeginOfALeadershipIsAContactButNoAnswer) {
  EXPECT_EQ(progress_.heard_at(), now_);
  EXPECT_FALSE(progress_.has_answered());
  progress_.on_contact(now_, 1);
  EXPECT_TRUE(progress_.has_answered());
}

TEST_F(SnapshotProgress, AnAnswerThatComesTwiceSendsNothingTwice) {
  EXPECT_EQ(sent(), 0U);
  wants(1, request_);
  EXPECT_EQ(sent(), 1U);
  wants(1, request_ - 1);
  EXPECT_EQ(sent(), std::nullopt);
  wants(2, request_);
  EXPECT_EQ(sent(), 2U);
  wants(1, request_ - 2);
  wants(2, request_ - 1);
  EXPECT_EQ(sent(), std::nullopt);
}

TEST_F(SnapshotProgress, ALateAnswerOfASlowFollowerIsStillProgress) {
  EXPECT_EQ(sent(), 0U);
  progress_.restart();
  EXPECT_EQ(sent(), 0U) << "sent again after a silence";
  wants(1, request_ - 1);
  EXPECT_EQ(sent(), 1U);
  wants(1, request_ - 1);
  EXPECT_EQ(sent(), std::nullopt) << "the answer to the second copy of part 0";
}

TEST_F(SnapshotProgress, AFollowerThatForgotItsPartsGetsThemAgain) {
  EXPECT_EQ(sent(), 0U);
  wants(1, request_);
  EXPECT_EQ(sent(), 1U);
  wants(0, request_);
  EXPECT_EQ(sent(), 0U);
}

}  // namespace
}  // namespace muster::scheduler
