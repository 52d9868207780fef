// VoterPace: voters on which a leader places nothing: those that do not answer it, and those whose
// disks do not follow. Method: a leader whose voters the test plays.

#include "scheduler/seat/voter_pace.h"

#include <gtest/gtest.h>

#include "tests/scheduler/seat/led_quorum.h"

namespace muster::scheduler {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

using News = std::optional<input::VotersQuiet>;

/// The news that is to be told of these.
News news(std::vector<HostId> hosts, std::vector<HostId> late = {}) {
  return input::VotersQuiet{std::move(hosts), std::move(late)};
}

class VoterPaceTest : public LedQuorum {
 protected:
  void lead_three() { lead({host(1), host(2), host(3)}); }
  News look() { return pace_.look(now, *raft, host(1)); }
  /// Time passes in looks a tenth of a second apart; the last news.
  News look_for(Duration time) {
    News last;
    for (const Instant end = now + time; now < end;) {
      pass(milliseconds(100));
      const News news = look();
      last = news.has_value() ? news : last;
    }
    return last;
  }
  /// Something new is in the log, and committed by those whose disks take it.
  void write() {
    step(Raft::Propose{"x"});
    answer();
  }

  VoterPace pace_;
};

TEST_F(VoterPaceTest, WhileAllAnswerThereIsNoNews) {
  lead_three();
  EXPECT_EQ(look(), std::nullopt);
  write();
  EXPECT_EQ(look_for(seconds(5)), std::nullopt);
}

TEST_F(VoterPaceTest, VotersThatHaveNotAnsweredThisLeadershipAreQuiet) {
  lead(founding({host(1), host(2), host(3)}), {});
  EXPECT_EQ(look(), news({host(2), host(3)})) << "one may be the leader before, frozen";
  EXPECT_EQ(look(), std::nullopt) << "it was told";
  answer_from(host(3));
  EXPECT_EQ(look(), news({host(2)}));
  answer_from(host(2));
  EXPECT_EQ(look(), news({}));
}

TEST_F(VoterPaceTest, OneThatIsSilentForSoLongIsQuietUntilItAnswers) {
  lead_three();
  look();
  answering_.erase(host(3));
  EXPECT_EQ(look_for(VoterPace::kQuietAfter - milliseconds(100)), std::nullopt);
  EXPECT_EQ(look_for(milliseconds(100)), news({host(3)}));
  EXPECT_EQ(look_for(seconds(2)), std::nullopt) << "it was told";
  answer_from(host(3));
  EXPECT_EQ(look(), news({}));
}

TEST_F(VoterPaceTest, OneWhoseDiskDoesNotFollowIsLateForAWhile) {
  lead_three();
  look();
  stuck_at_[host(3)] = raft->last_index();
  write();
  look();
  EXPECT_EQ(look_for(VoterPace::kQuietAfter - milliseconds(100)), std::nullopt);
  EXPECT_EQ(look_for(milliseconds(100)), news({}, {host(3)})) << "it answers, so it is not quiet";
  EXPECT_EQ(look_for(2 * VoterPace::kLateFor), std::nullopt) << "it goes on being late";
  stuck_at_.clear();
  pass(milliseconds(10));
  EXPECT_EQ(look_for(VoterPace::kLateFor - milliseconds(200)), std::nullopt) << "a slow disk";
  EXPECT_EQ(look_for(milliseconds(200)), news({}));
}

TEST_F(VoterPaceTest, ADiskThatFollowsBehindOthersIsNotLate) {
  lead_three();
  look();
  // Every other look finds it behind, and it always comes nearer.
  for (int i = 0; i < 30; ++i) {
    stuck_at_[host(3)] = LogIndex(raft->last_index().value() - 1);
    write();
    write();
    write();
    EXPECT_EQ(look_for(milliseconds(100)), std::nullopt);
  }
}

TEST_F(VoterPaceTest, WhenMostDisksAreSlowNoneIsLate) {
  lead({host(1), host(2), host(3), host(4)});
  look();
  stuck_at_[host(3)] = raft->last_index();
  write();
  look();
  EXPECT_EQ(look_for(seconds(1)), news({}, {host(3)}));
  pace_.own_disk_is_late(now, *raft);
  EXPECT_EQ(look(), news({})) << "two of four: nowhere would it go faster";
}

TEST_F(VoterPaceTest, TheOwnDiskIsLateForAWhile) {
  lead_three();
  look();
  pace_.own_disk_is_late(now, *raft);
  EXPECT_EQ(look(), news({}, {host(1)}));
  EXPECT_EQ(look_for(VoterPace::kLateFor - milliseconds(100)), std::nullopt);
  EXPECT_EQ(look_for(milliseconds(100)), news({}));
}

TEST_F(VoterPaceTest, TheOwnDiskIsNotBlamedWhileTheOthersKeepTheLogWaiting) {
  lead_three();
  look();
  step(Raft::Propose{"x"});
  ASSERT_LT(raft->commit(), raft->last_index());
  pace_.own_disk_is_late(now, *raft);
  EXPECT_EQ(look(), std::nullopt);
}

TEST_F(VoterPaceTest, LearnersAreOfNoConcern) {
  const Configuration founders = founding({host(1), host(2), host(3)});
  lead(founders.with_learner({host(4), SeatId(9)}), {host(2), host(3)});
  EXPECT_EQ(look(), std::nullopt);
  EXPECT_EQ(look_for(seconds(2)), std::nullopt) << "it never answered";
}

TEST_F(VoterPaceTest, AHostThatLeadsNoMoreTakesItBack) {
  lead_three();
  look();
  answering_.erase(host(3));
  EXPECT_EQ(look_for(seconds(1)), news({host(3)}));
  lose_the_lead_to(host(2));
  EXPECT_EQ(look(), news({}));
}

}  // namespace
}  // namespace muster::scheduler
