// ElectorateKeeper: an operator's wish comes to its end, fulfilled or not, and the leader takes its
// own steps at their time. Method: a leader whose members the test plays.

#include "scheduler/seat/electorate_keeper.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tests/scheduler/seat/led_quorum.h"

namespace muster::scheduler {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

using Keeper = ElectorateKeeper;

class KeeperTest : public LedQuorum {
 protected:
  void lead_three() { lead({host(1), host(2), host(3)}); }

  /// As its seat does after each step: its output goes to Raft, and it sees the result.
  void carry() {
    for (int round = 0; round < 2; ++round) {
      Keeper::Output output = keeper_.take_output();
      for (Raft::Input& input : output.inputs) {
        if (const auto* invite = std::get_if<Raft::Invite>(&input)) {
          invited_.push_back(invite->host);
        }
        step(std::move(input));
      }
      std::move(output.done.begin(), output.done.end(), std::back_inserter(done_));
      std::move(output.events.begin(), output.events.end(), std::back_inserter(events_));
      for (const input::ClientOrder& order : output.spared) {
        spared_.push_back(order.ends_vote_of);
      }
      if (round == 0) {
        keeper_.follow(now, *raft);
      }
    }
  }
  void wish(QuorumAction action, HostId host, std::uint64_t request = 1) {
    keeper_.wish(now, *raft, request, action, host);
    carry();
  }
  void end_vote(HostId host, std::uint64_t request = 1) {
    input::ClientOrder order;
    order.request = request;
    order.ends_vote_of = host;
    keeper_.end_vote(now, *raft, std::move(order));
    carry();
  }
  void look(const std::vector<SeenHost>& hosts) {
    keeper_.look(now, *raft, hosts);
    carry();
  }
  /// Time passes, and it follows.
  void carry_for(Duration time) {
    for (const Instant end = now + time; now < end;) {
      pass(std::min<Duration>(end - now, milliseconds(100)));
      carry();
    }
  }
  /// The members that answer take what is new.
  void commit() {
    answer();
    carry();
  }
  /// The answer of this request, and no other.
  void expect_done(std::uint64_t request, bool ok, const std::string& part,
                   ErrorCode code = ErrorCode::kUnknown) {
    ASSERT_EQ(done_.size(), 1U);
    EXPECT_EQ(done_[0].request, request);
    EXPECT_EQ(done_[0].ok, ok);
    EXPECT_NE(done_[0].text.find(part), std::string::npos) << done_[0].text;
    if (!ok) {
      EXPECT_EQ(done_[0].code, code);
    }
    done_.clear();
  }
  std::vector<HostId> voters() const { return raft->voters(); }
  std::vector<Seat> learners() const { return raft->configuration().learners; }
  std::size_t target() const { return raft->configuration().target; }

  Keeper keeper_;
  std::vector<HostId> invited_;
  std::vector<Keeper::Done> done_;
  std::vector<HostId> spared_;
  std::vector<Event> events_;
};

const std::vector kThree{host(1), host(2), host(3)};

// Wishes.

TEST_F(KeeperTest, ANewHostIsAskedForItsSeatAndAddedWhenItAnswers) {
  lead_three();
  wish(QuorumAction::kAdd, host(4));
  EXPECT_EQ(invited_, std::vector{host(4)});
  EXPECT_TRUE(learners().empty());
  keeper_.seat_heard({host(4), SeatId(9)});
  carry();
  EXPECT_EQ(learners(), (std::vector<Seat>{{host(4), SeatId(9)}}));
  EXPECT_EQ(target(), 4U);
  EXPECT_TRUE(done_.empty()) << "it is not committed yet";
  commit();
  expect_done(1, true, "votes when it has caught up");
}

TEST_F(KeeperTest, APlaceThatStandsEmptyIsFilledWithoutWantingMore) {
  Configuration short_of_one = founding({host(1), host(2), host(3)});
  short_of_one.target = 5;
  lead(short_of_one, {host(2), host(3)});
  wish(QuorumAction::kAdd, host(4));
  keeper_.seat_heard({host(4), SeatId(9)});
  carry();
  EXPECT_EQ(learners().size(), 1U);
  EXPECT_EQ(target(), 5U);
}

TEST_F(KeeperTest, AHostThatDoesNotSayItsSeatEndsTheWishAfterAWhile) {
  lead_three();
  wish(QuorumAction::kAdd, host(4));
  carry_for(Keeper::kAnswerWait - milliseconds(100));
  EXPECT_TRUE(done_.empty());
  carry_for(milliseconds(100));
  expect_done(1, false, "does not answer", ErrorCode::kUnavailable);
  EXPECT_EQ(voters(), kThree);
}

TEST_F(KeeperTest, AVoterIsRemovedAndOneLessIsWantedFromThenOn) {
  lead_three();
  wish(QuorumAction::kRemove, host(3));
  EXPECT_EQ(voters(), (std::vector{host(1), host(2)}));
  EXPECT_EQ(target(), 2U);
  EXPECT_TRUE(done_.empty()) << "it is not committed yet";
  commit();
  expect_done(1, true, "");
}

TEST_F(KeeperTest, WishesThatAreFulfilledAlreadyChangeNothing) {
  lead(founding(kThree).with_learner({host(4), SeatId(9)}), {host(2), host(3)});
  const Configuration before = raft->configuration();
  wish(QuorumAction::kAdd, host(2));
  expect_done(1, true, "votes already");
  wish(QuorumAction::kAdd, host(4), 2);
  expect_done(2, true, "being added already");
  wish(QuorumAction::kRemove, host(5), 3);
  expect_done(3, true, "did not vote");
  EXPECT_EQ(raft->configuration(), before);
  EXPECT_TRUE(invited_.empty());
}

TEST_F(KeeperTest, OneWishAtATimeIsCarriedOut) {
  lead_three();
  wish(QuorumAction::kAdd, host(4), 1);
  wish(QuorumAction::kRemove, host(3), 2);
  expect_done(2, false, "under way", ErrorCode::kConflict);
  EXPECT_EQ(voters(), kThree);
  keeper_.seat_heard({host(4), SeatId(9)});
  carry();
  commit();
  expect_done(1, true, "");
  wish(QuorumAction::kRemove, host(3), 3);
  commit();
  expect_done(3, true, "");
}

TEST_F(KeeperTest, AChangeThatRaftWouldNotTakeIsRefusedWithItsReason) {
  lead(founding(kThree), {});
  wish(QuorumAction::kRemove, host(3));
  expect_done(1, false, "the leader is new", ErrorCode::kConflict);
  EXPECT_EQ(voters(), kThree);
}

TEST_F(KeeperTest, AWishIsNotCarriedOutByWhoLeadsNoMore) {
  lead_three();
  wish(QuorumAction::kAdd, host(4), 1);
  lose_the_lead_to(host(2));
  carry();
  expect_done(1, false, "repeat", ErrorCode::kUnavailable);
}

TEST_F(KeeperTest, AChangeThatWasWrittenAndNotCommittedMayComeYet) {
  lead_three();
  wish(QuorumAction::kRemove, host(3));
  lose_the_lead_to(host(2));
  carry();
  expect_done(1, false, "see `muster quorum`", ErrorCode::kUnknown);
}

// Handing over.

TEST_F(KeeperTest, TheLeadGoesToNobodyThatDoesNotVote) {
  lead(founding(kThree).with_learner({host(4), SeatId(9)}), {host(2), host(3)});
  wish(QuorumAction::kTransfer, host(4));
  expect_done(1, false, "does not vote", ErrorCode::kConflict);
  wish(QuorumAction::kTransfer, host(1), 2);
  expect_done(2, true, "leads already");
  EXPECT_FALSE(raft->is_handing_over());
}

TEST_F(KeeperTest, AHandOverIsDoneWhenThatHostLeads) {
  lead_three();
  wish(QuorumAction::kTransfer, host(2));
  EXPECT_TRUE(raft->is_handing_over());
  EXPECT_TRUE(done_.empty());
  lose_the_lead_to(host(2));
  carry();
  expect_done(1, true, "");
}

TEST_F(KeeperTest, AHandOverToAnybodyIsDoneWhenAnotherLeads) {
  lead_three();
  wish(QuorumAction::kTransfer, HostId());
  EXPECT_TRUE(raft->is_handing_over());
  lose_the_lead_to(host(3));
  carry();
  expect_done(1, true, "");
}

TEST_F(KeeperTest, AHandOverThatWentToAnotherIsNotWhatWasWished) {
  lead_three();
  wish(QuorumAction::kTransfer, host(2));
  lose_the_lead_to(host(3));
  carry();
  expect_done(1, false, host(3).short_hex(), ErrorCode::kConflict);
}

TEST_F(KeeperTest, AHandOverThatNobodyTakesEndsWithTheLeaderLeadingOn) {
  lead_three();
  wish(QuorumAction::kTransfer, host(2));
  carry_for(RaftConfig().transfer_patience + milliseconds(100));
  expect_done(1, false, "the leader stays", ErrorCode::kConflict);
  EXPECT_EQ(raft->role(), Role::kLeader);
}

// Votes that end.

TEST_F(KeeperTest, AVoteEndsOnceMostOfTheOthersAnsweredSince) {
  lead_three();
  answering_ = {host(3)};
  end_vote(host(3));
  carry_for(milliseconds(500));
  EXPECT_TRUE(spared_.empty()) << "host 2 may have died a moment ago";
  EXPECT_EQ(voters(), kThree);
  answer_from(host(2));
  carry();
  EXPECT_EQ(spared_, std::vector{host(3)});
  EXPECT_EQ(voters(), (std::vector{host(1), host(2)}));
  EXPECT_TRUE(done_.empty());
}

TEST_F(KeeperTest, AVoteThatIsNotSparedInTimeStays) {
  lead_three();
  answering_ = {host(3)};
  end_vote(host(3));
  carry_for(Keeper::kAnswerWait - milliseconds(100));
  EXPECT_TRUE(done_.empty());
  carry_for(milliseconds(100));
  expect_done(1, false, "cannot be spared yet", ErrorCode::kUnavailable);
  EXPECT_EQ(voters(), kThree);
  EXPECT_TRUE(spared_.empty());
}

TEST_F(KeeperTest, AHostWithoutAVoteIsSparedAtOnce) {
  lead_three();
  end_vote(host(7));
  EXPECT_EQ(spared_, std::vector{host(7)});
  EXPECT_EQ(voters(), kThree);
}

TEST_F(KeeperTest, ALearnerThatIsAboutToVoteIsLetGo) {
  lead(founding(kThree).with_learner({host(4), SeatId(9)}), {host(2), host(3)});
  end_vote(host(4));
  carry_for(milliseconds(100));
  EXPECT_EQ(spared_, std::vector{host(4)});
  EXPECT_TRUE(learners().empty());
}

TEST_F(KeeperTest, TwoVotesEndOneBehindTheOther) {
  lead({host(1), host(2), host(3), host(4), host(5)});
  end_vote(host(4), 1);
  end_vote(host(5), 2);
  pass(milliseconds(100));
  carry();
  EXPECT_EQ(spared_, std::vector{host(4)});
  EXPECT_EQ(voters().size(), 4U) << "the first change is not committed yet";
  commit();
  EXPECT_EQ(spared_, (std::vector{host(4), host(5)}));
  EXPECT_EQ(voters(), kThree);
}

TEST_F(KeeperTest, AVoterWhoseVoteIsToEndIsReplacedForAWhile) {
  lead_three();
  answering_ = {host(3)};
  const std::vector<SeenHost> seen{{host(2), ""}, {host(3), ""}, {host(4), ""}};
  end_vote(host(3));
  look(seen);
  EXPECT_EQ(invited_, std::vector{host(4)});
  carry_for(Keeper::kAnswerWait);
  ASSERT_EQ(done_.size(), 1U) << "it was not spared";
  answering_ = {host(2), host(3)};
  carry_for(EndingVotes::kReplaceFor - Keeper::kAnswerWait - milliseconds(100));
  look(seen);
  EXPECT_EQ(invited_.size(), 2U) << "the operator will say it again";
  carry_for(Keeper::kInviteAgain);
  look(seen);
  EXPECT_EQ(invited_.size(), 2U) << "the operator thought better of it";
}

TEST_F(KeeperTest, OfASeatThatIsGivenUpAllIsAnswered) {
  lead_three();
  wish(QuorumAction::kAdd, host(4), 1);
  answering_ = {host(3)};
  end_vote(host(3), 2);
  look({{host(4), ""}});
  keeper_.leave();
  const Keeper::Output output = keeper_.take_output();
  EXPECT_TRUE(output.inputs.empty());
  ASSERT_EQ(output.done.size(), 2U);
  EXPECT_EQ(output.done[0].request, 1U);
  EXPECT_EQ(output.done[0].code, ErrorCode::kUnknown);
  EXPECT_EQ(output.done[1].request, 2U);
  EXPECT_EQ(output.done[1].code, ErrorCode::kUnavailable);
}

// Steps of its own.

/// Of three that are wanted one is missing.
class ShortQuorum : public KeeperTest {
 protected:
  void lead_two() {
    Configuration two = founding({host(1), host(2)});
    two.target = 3;
    lead(two, {host(2)});
  }
  const std::vector<SeenHost> seen_{{host(2), ""}, {host(4), ""}};
};

TEST_F(ShortQuorum, APlaceIsFilledByALearnerThatVotesOnceItHasCaughtUp) {
  lead_two();
  look(seen_);
  EXPECT_EQ(invited_, std::vector{host(4)});
  keeper_.seat_heard({host(4), SeatId(9)});
  look(seen_);
  EXPECT_EQ(learners(), (std::vector<Seat>{{host(4), SeatId(9)}}));
  ASSERT_EQ(events_.size(), 1U);
  EXPECT_EQ(events_[0].name, "electorate_step");
  look(seen_);
  EXPECT_EQ(events_.size(), 1U) << "the step before is not committed yet";
  seats_[host(4)] = SeatId(9);
  answering_ = {host(2), host(4)};
  commit();
  look(seen_);
  EXPECT_EQ(voters(), (std::vector{host(1), host(2), host(4)}));
}

TEST_F(ShortQuorum, AHostIsAskedForItsSeatAgainAfterAWhile) {
  lead_two();
  look(seen_);
  carry_for(Keeper::kInviteAgain - milliseconds(100));
  look(seen_);
  EXPECT_EQ(invited_.size(), 1U);
  carry_for(milliseconds(100));
  look(seen_);
  EXPECT_EQ(invited_.size(), 2U);
}

TEST_F(ShortQuorum, AHostThatDidNotAnswerLeavesItsTurnToAnother) {
  lead_two();
  look(seen_);
  look({{host(2), ""}, {host(4), ""}, {host(5), ""}});
  EXPECT_EQ(invited_, (std::vector{host(4), host(5)}));
}

TEST_F(ShortQuorum, HostsThatLeftTakeNoPlace) {
  lead_two();
  look({{host(2), ""}, {host(4), "", true}});
  EXPECT_TRUE(invited_.empty());
}

TEST_F(ShortQuorum, InAStormNothingNewBegins) {
  lead_two();
  keeper_.storm_changed(StormMode::kDomain);
  look(seen_);
  EXPECT_TRUE(invited_.empty());
  keeper_.storm_changed(StormMode::kNormal);
  look(seen_);
  EXPECT_EQ(invited_, std::vector{host(4)});
}

TEST_F(ShortQuorum, AnOperatorsChangeGoesFirst) {
  lead_two();
  wish(QuorumAction::kTransfer, host(2));
  look(seen_);
  EXPECT_TRUE(invited_.empty());
}

TEST_F(ShortQuorum, ALeadershipThatIsOverLeavesNothingBehind) {
  lead_two();
  look(seen_);
  keeper_.seat_heard({host(4), SeatId(9)});
  EXPECT_EQ(keeper_.next_deadline(*raft), now + Keeper::kPeriod);
  lose_the_lead_to(host(2));
  carry();
  EXPECT_EQ(keeper_.next_deadline(*raft), kNever);
  be_elected();
  answer();
  look(seen_);
  EXPECT_TRUE(learners().empty()) << "its seat may be another one by now";
  EXPECT_EQ(invited_, (std::vector{host(4), host(4)}));
}

TEST_F(KeeperTest, AVoterThatLeftIsReplacedWithoutWaiting) {
  lead_three();
  look({{host(2), "", true}, {host(3), ""}, {host(4), ""}});
  EXPECT_EQ(invited_, std::vector{host(4)});
}

TEST_F(KeeperTest, AVoterThatAnswersFromAnotherSeatForAWhileIsReplaced) {
  lead_three();
  const std::vector<SeenHost> seen{{host(2), ""}, {host(3), ""}, {host(4), ""}};
  seats_[host(3)] = SeatId(7);
  answer();
  look(seen);
  carry_for(ElectorateOptions().other_seat_after - milliseconds(100));
  look(seen);
  EXPECT_TRUE(invited_.empty());
  carry_for(milliseconds(100));
  look(seen);
  EXPECT_EQ(invited_, std::vector{host(4)});
}

TEST_F(KeeperTest, AVoterThatCameBackToItsSeatIsAsGoodAsNew) {
  lead_three();
  const std::vector<SeenHost> seen{{host(2), ""}, {host(3), ""}, {host(4), ""}};
  for (int i = 0; i < 3; ++i) {
    seats_[host(3)] = SeatId(7);
    answer();
    look(seen);
    carry_for(ElectorateOptions().other_seat_after - milliseconds(100));
    look(seen);
    seats_.clear();
    answer();
    look(seen);
  }
  EXPECT_TRUE(invited_.empty());
}

/// Four are wanted, and the fourth is a learner that lacks more entries than a voter may.
class LearningQuorum : public KeeperTest {
 protected:
  void lead_with_learner() {
    Configuration four = founding(kThree).with_learner({host(4), SeatId(9)});
    four.target = 4;
    lead(four, {host(2), host(3)});
    for (std::uint64_t i = 0; i < 2 * ElectorateOptions().promote_lag; ++i) {
      step(Raft::Propose{"x"});
    }
    seats_[host(4)] = SeatId(9);
    learner_takes(1);
  }
  void learner_takes(std::uint64_t index) {
    stuck_at_[host(4)] = LogIndex(index);
    answering_.insert(host(4));
    answer();
    look({});
  }
};

TEST_F(LearningQuorum, ALearnerThatComesNoNearerForLongIsLetGo) {
  lead_with_learner();
  carry_for(ElectorateOptions().stuck_after - seconds(1));
  look({});
  EXPECT_EQ(learners().size(), 1U);
  carry_for(seconds(1));
  look({});
  EXPECT_TRUE(learners().empty());
}

TEST_F(LearningQuorum, ALearnerThatComesNearerIsKept) {
  lead_with_learner();
  carry_for(ElectorateOptions().stuck_after - seconds(1));
  learner_takes(2);
  carry_for(seconds(1));
  look({});
  EXPECT_EQ(learners().size(), 1U);
}

}  // namespace
}  // namespace muster::scheduler
