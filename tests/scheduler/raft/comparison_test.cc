// Goal: a voter whose disk went back does no harm while another host knows. Method: one voter of
// three starts from a disk, and the test plays its peers; then a follower of a leader does.

#include "scheduler/raft/raft.h"
#include "tests/scheduler/raft/one_voter.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace muster::scheduler {
namespace {

using std::chrono::milliseconds;

class StartFromDisk : public OneVoter {
 protected:
  StartFromDisk() { syncs_at_once = true; }
  /// In term 5, with entries 1..4 of term 4 and 5 of term 5.
  void start(HostId vote = HostId()) {
    RecoveredLog log;
    log.is_copy = is_copy;
    log.snapshot.configuration = configuration;
    log.hard_state = {Term(5), vote};
    log.must_compare = true;
    log.entries = std::vector<LogEntry>(4, {Term(4), LogEntryKind::kCommand, "c"});
    log.entries.push_back({Term(5), LogEntryKind::kCommand, "c"});
    OneVoter::start(std::move(log));
    wait(Duration(0));
  }
  std::uint64_t question() {
    const auto asked = sent<AppendRequest>();
    EXPECT_FALSE(asked.empty());
    EXPECT_EQ(asked.front().term, Term());
    return asked.front().request;
  }
  void answer(std::uint8_t from, std::uint64_t to, std::uint64_t term, const Answer& answer = {}) {
    AppendReply reply{Term(term), to, 0, false, LogIndex(), {}};
    reply.answer = answer;
    hear(from, reply);
  }
  static Answer marked(const Mark& mark) { return {{}, false, mark}; }
  static LogPosition at(std::uint64_t index, std::uint64_t term) {
    return {LogIndex(index), Term(term)};
  }
  bool grants(std::uint64_t term, LogPosition last) {
    hear(3, VoteRequest{Term(term), false, last, ++request, true});
    const auto replies = sent<VoteReply>();
    return !replies.empty() && replies.back().granted;
  }

  Configuration configuration = founding({host(1), host(2), host(3)});
  std::uint64_t request = 0;
  bool is_copy = false;
};

TEST_F(StartFromDisk, ACopyIsSilentWhateverOthersAnswerThatDoNotLead) {
  is_copy = true;
  start();
  const std::uint64_t asked = question();
  for (int round = 0; round < 10; ++round) {
    answer(2, asked, 5);
    answer(3, asked, 5);
    wait(std::chrono::minutes(1));
  }
  EXPECT_TRUE(raft->is_copy());
  EXPECT_FALSE(grants(6, at(9, 5)));
  EXPECT_FALSE(out.gives_seat_up.has_value());
  EXPECT_TRUE(sent<VoteRequest>().empty());
}

TEST_F(StartFromDisk, ACopyGivesItsSeatUpWhereSomebodyStillLeadsWithoutIt) {
  is_copy = true;
  start();
  const std::uint64_t asked = question();
  Answer leads;
  leads.leads = true;
  answer(2, asked, 5, leads);
  EXPECT_FALSE(out.gives_seat_up.has_value()) << "it may lead by what this voter said before";
  wait(Comparison::kLeadsWithoutCopy);
  answer(2, asked, 5, leads);
  EXPECT_TRUE(out.gives_seat_up.has_value());
}

TEST_F(StartFromDisk, ACopyOfTheOnlyVoterIsSilentToo) {
  is_copy = true;
  configuration = founding({host(1)});
  start();
  wait(std::chrono::minutes(1));
  EXPECT_TRUE(raft->is_copy());
  EXPECT_EQ(raft->role(), Role::kFollower);
}

TEST_F(StartFromDisk, NothingIsAnsweredBeforeAllAnswered) {
  start();
  EXPECT_EQ(sent<AppendRequest>().size(), 2U);
  const std::uint64_t asked = question();
  EXPECT_FALSE(grants(6, at(9, 5)));
  EXPECT_TRUE(out.messages.empty());
  hear(2, AppendRequest{Term(6), 1, 1, at(5, 5), {}, {}});
  EXPECT_TRUE(out.messages.empty());
  answer(2, asked, 5);
  EXPECT_TRUE(raft->is_comparing());
  answer(3, asked, 5);
  EXPECT_FALSE(raft->is_comparing());
  hear(2, AppendRequest{Term(6), 1, 1, at(5, 5), {}, {}});
  EXPECT_EQ(sent<AppendReply>().size(), 1U);
}

TEST_F(StartFromDisk, AMajorityIsEnoughAfterAWhileAndLessIsNot) {
  start();
  const std::uint64_t asked = question();
  wait(Comparison::kPatience);
  EXPECT_EQ(sent<AppendRequest>().size(), 2U);
  EXPECT_TRUE(raft->is_comparing());
  wait(std::chrono::minutes(1));
  EXPECT_TRUE(raft->is_comparing());
  answer(2, asked + 1, 5);  // Of an earlier start.
  EXPECT_TRUE(raft->is_comparing());
  answer(2, asked, 5);
  EXPECT_FALSE(raft->is_comparing());
}

TEST_F(StartFromDisk, VotersThatItsDiskDoesNotKnowAreWaitedForToo) {
  start(host(3));
  const std::uint64_t asked = question();
  Answer newer;
  newer.voters = {host(1), host(2), host(7)};
  answer(2, asked, 6, newer);
  wait(Duration(0));
  EXPECT_EQ(sent_to<AppendRequest>(), (std::vector{host(2), host(3), host(7)}));
  answer(3, asked, 6, newer);
  EXPECT_TRUE(raft->is_comparing());
  answer(7, asked, 6, marked({Term(5), at(6, 5), false}));
  EXPECT_TRUE(out.gives_seat_up.has_value());
}

TEST_F(StartFromDisk, ALearnerThatMayVoteByNowIsWaitedForAndDecidesNothing) {
  start(host(3));
  const std::uint64_t asked = question();
  Answer newer;
  newer.learners = {host(7)};
  answer(2, asked, 5, newer);
  answer(3, asked, 5, newer);
  wait(Duration(0));
  EXPECT_EQ(sent_to<AppendRequest>(), (std::vector{host(2), host(3), host(7)}));
  EXPECT_TRUE(raft->is_comparing());
  answer(7, asked, 6, marked({Term(6), at(5, 5), false}));
  EXPECT_TRUE(out.gives_seat_up.has_value());
}

TEST_F(StartFromDisk, FromALearnerAloneItDoesNotLearnEnough) {
  configuration = configuration.with_learner({host(7), SeatId(70)});
  start(host(3));
  const std::uint64_t asked = question();
  answer(7, asked, 5);
  wait(std::chrono::minutes(1));
  EXPECT_TRUE(raft->is_comparing());
  answer(2, asked, 5);
  EXPECT_FALSE(raft->is_comparing());
}

TEST_F(StartFromDisk, ALearnerThatIsOffIsWaitedForOnlyAWhile) {
  configuration = configuration.with_learner({host(7), SeatId(70)});
  start(host(3));
  const std::uint64_t asked = question();
  answer(2, asked, 5);
  answer(3, asked, 5);
  EXPECT_TRUE(raft->is_comparing());
  wait(Comparison::kPatience);
  EXPECT_FALSE(raft->is_comparing());
}

TEST_F(StartFromDisk, WhoWantsToLeadIsWaitedForLikeAVoter) {
  start(host(3));
  const std::uint64_t asked = question();
  hear(7, VoteRequest{Term(6), true, at(6, 6), 1});
  answer(2, asked, 5);
  answer(3, asked, 5);
  EXPECT_TRUE(raft->is_comparing());
  answer(7, asked, 6, marked({Term(6), at(5, 5), false}));
  EXPECT_TRUE(out.gives_seat_up.has_value());
}

TEST_F(StartFromDisk, ItTellsAnotherStarterWhomItWasItselfToldOf) {
  start();
  const std::uint64_t asked = question();
  hear(7, VoteRequest{Term(6), true, at(6, 6), 1});
  Answer newer;
  newer.voters = {host(1), host(2), host(6)};
  answer(3, asked, 5, newer);
  hear(2, AppendRequest{Term(), 77, 0, {}, {}, {}});
  const auto replies = sent<AppendReply>();
  ASSERT_EQ(replies.size(), 1U);
  ASSERT_TRUE(replies.front().answer.has_value());
  EXPECT_EQ(replies.front().answer->voters, (std::vector{host(1), host(2), host(3)}));
  EXPECT_EQ(replies.front().answer->learners, (std::vector{host(6), host(7)}));
}

TEST_F(StartFromDisk, WithoutALogItAsksAllWhomTheLeaderNames) {
  RecoveredLog nothing;
  nothing.must_compare = true;
  OneVoter::start(std::move(nothing));
  wait(std::chrono::minutes(1));
  hear(6, VoteRequest{Term(6), true, at(5, 5), 1});  // Removed, as it turns out.
  wait(Comparison::kPatience - milliseconds(100));
  hear(7, AppendRequest{Term(6), 1, 1, at(5, 5), {}, {}});
  wait(Duration(0));
  const std::uint64_t asked = question();
  Answer newer{at(5, 5), true, {}};
  newer.voters = {host(2), host(3), host(7)};
  answer(7, asked, 6, newer);
  wait(milliseconds(500));
  EXPECT_TRUE(raft->is_comparing());
  answer(2, asked, 6);
  EXPECT_TRUE(raft->is_comparing());
  answer(3, asked, 6, marked({Term(5), at(6, 5), false}));
  EXPECT_TRUE(out.gives_seat_up.has_value());
}

TEST_F(StartFromDisk, WithoutALogItWaitsForTheOthersOnlyAWhile) {
  RecoveredLog nothing;
  nothing.must_compare = true;
  OneVoter::start(std::move(nothing));
  wait(std::chrono::minutes(1));
  hear(7, AppendRequest{Term(6), 1, 1, at(5, 5), {}, {}});
  wait(Duration(0));
  Answer newer{at(5, 5), true, {}};
  newer.voters = {host(2), host(3), host(7)};
  answer(7, question(), 6, newer);
  wait(Comparison::kPatience - milliseconds(1));
  EXPECT_TRUE(raft->is_comparing());
  wait(milliseconds(1));
  EXPECT_FALSE(raft->is_comparing());
}

TEST_F(StartFromDisk, NobodyMakesItAskWithoutEnd) {
  start(host(3));
  const std::uint64_t asked = question();
  Answer many;
  for (std::uint8_t number = 10; number < 250; ++number) {
    many.voters = {host(number)};
    many.learners = {host(static_cast<std::uint8_t>(number + 1))};
    answer(2, asked, 6, many);
    wait(Duration(1));
  }
  wait(Comparison::kAskEvery);
  EXPECT_LE(sent<AppendRequest>().size(), 2 * Comparison::kAlsoAskedMax + 2);
}

TEST_F(StartFromDisk, AVoterThatLostItsDiskIsNoAnswer) {
  start();
  AppendReply reply{Term(5), question(), 0, false, LogIndex(), {}, SeatId(9)};
  reply.answer = Answer();
  wait(Comparison::kPatience);
  hear(2, reply);
  EXPECT_TRUE(raft->is_comparing());
  reply.seat = SeatId();
  hear(3, reply);
  EXPECT_FALSE(raft->is_comparing());
}

TEST_F(StartFromDisk, WhatItSaidAndDoesNotHoldEndsItsSeat) {
  const Mark forgotten[] = {
      {Term(6), {}, false},        // A term.
      {Term(5), at(6, 5), false},  // An entry.
      {Term(5), at(4, 5), false},  // An entry that took the place of another.
      {Term(5), {}, true},         // A vote.
  };
  for (const Mark& mark : forgotten) {
    start(host(3));
    answer(2, question(), 6, marked(mark));
    EXPECT_TRUE(out.gives_seat_up.has_value());
    EXPECT_TRUE(raft->halted());
    wait(std::chrono::minutes(1));
    EXPECT_FALSE(grants(7, at(9, 6)));
    EXPECT_TRUE(out.messages.empty());
  }
}

TEST_F(StartFromDisk, WhatItHoldsOrWasReplacedLaterEndsNothing) {
  const Mark held[] = {
      {Term(5), at(5, 5), true},
      {Term(5), at(4, 4), false},
      {Term(4), at(9, 4), true},  // A leader of term 5 replaced it.
      {},
  };
  for (const Mark& mark : held) {
    start(host(2));
    const std::uint64_t asked = question();
    answer(2, asked, 5, marked(mark));
    EXPECT_FALSE(out.gives_seat_up.has_value());
    answer(3, asked, 5);
    EXPECT_FALSE(raft->is_comparing());
    EXPECT_TRUE(grants(6, at(5, 5)));
  }
}

TEST_F(StartFromDisk, ItVotesInNoTermThatItMayHaveVotedIn) {
  start();
  const std::uint64_t asked = question();
  answer(2, asked, 8);
  answer(3, asked, 5);
  EXPECT_EQ(raft->term(), Term(8));
  EXPECT_FALSE(grants(7, at(9, 6)));
  EXPECT_FALSE(grants(8, at(9, 6)));
  EXPECT_TRUE(grants(9, at(9, 6)));
}

TEST_F(StartFromDisk, WhoLacksWhatIsCommittedGetsNoVoteAndItselfDoesNotAsk) {
  start();
  const std::uint64_t asked = question();
  answer(2, asked, 5, {at(7, 5), false, {}});
  answer(3, asked, 5);
  EXPECT_FALSE(grants(6, at(6, 5)));
  EXPECT_TRUE(grants(7, at(7, 5)));
  wait(std::chrono::minutes(1));
  EXPECT_TRUE(sent<VoteRequest>().empty());
}

TEST_F(StartFromDisk, WhoLeadsIsAskedThoughItWasNoVoterThen) {
  start();
  const std::uint64_t asked = question();
  hear(7, AppendRequest{Term(6), 1, 1, at(5, 5), {}, {}});
  wait(Comparison::kAskEvery);
  EXPECT_EQ(sent<AppendRequest>().size(), 3U);
  answer(7, asked, 6, {at(5, 5), true, {}});
  EXPECT_TRUE(raft->is_comparing());
  wait(Comparison::kPatience);
  EXPECT_FALSE(raft->is_comparing());
}

/// Leads in term 1 with host 2, entry 1 durable on both.
class LeaderOfAStarter : public StartFromDisk {
 protected:
  void SetUp() override {
    OneVoter::start({host(1), host(2), host(3)});
    be_elected();
    acknowledge(1);
  }
  void acknowledge(std::uint64_t match) {
    hear(2, AppendReply{Term(1), ++beat, 1, true, LogIndex(match), {}});
  }
  Answer ask() {
    hear(2, AppendRequest{Term(), 77, 0, {}, {}, {}});
    const auto replies = sent<AppendReply>();
    EXPECT_EQ(replies.size(), 1U);
    EXPECT_EQ(replies.front().request, 77U);
    return replies.front().answer.value_or(Answer());
  }

  std::uint64_t beat = 0;
};

TEST_F(LeaderOfAStarter, ItTellsTheMarkOfTheSeatThatAsks) {
  const Answer answer = ask();
  EXPECT_TRUE(answer.leads);
  EXPECT_EQ(answer.commit, at(1, 1));
  EXPECT_EQ(answer.mark, (Mark{Term(1), at(1, 1), true}));
  hear(2, AppendRequest{Term(), 78, 99, {}, {}, {}});  // From another seat.
  EXPECT_EQ(sent<AppendReply>().front().answer->mark, Mark());
}

TEST_F(LeaderOfAStarter, WordsOfTheLifeBeforeCommitNothing) {
  step(Raft::Propose{"x"});
  const std::uint64_t asked_before = beat + 2;
  ask();
  hear(2, AppendReply{Term(1), asked_before, 1, true, LogIndex(2), {}});
  EXPECT_EQ(raft->commit(), LogIndex(1));
  wait(milliseconds(400));
  const auto beats = sent<AppendRequest>();
  ASSERT_FALSE(beats.empty());
  hear(2, AppendReply{Term(1), beats.back().request, 2, true, LogIndex(), {}});
  const auto second = sent<AppendRequest>();
  ASSERT_FALSE(second.empty());
  hear(2, AppendReply{Term(1), second.back().request, 2, true, LogIndex(2), {}});
  EXPECT_EQ(raft->commit(), LogIndex(2));
}

TEST(Marks, ALaterTermReplacesWhatWasHeardOfAnEarlierOne) {
  Marks marks;
  marks.heard_vote(host(2), SeatId(1), Term(3));
  marks.heard_match(host(2), SeatId(1), Term(3), {LogIndex(7), Term(3)});
  marks.heard_match(host(2), SeatId(1), Term(3), {LogIndex(6), Term(3)});
  marks.heard(host(2), SeatId(1), Term(2));
  EXPECT_EQ(marks.of(host(2), SeatId(1)), (Mark{Term(3), {LogIndex(7), Term(3)}, true}));
  marks.heard(host(2), SeatId(1), Term(4));
  EXPECT_EQ(marks.of(host(2), SeatId(1)), (Mark{Term(4), {}, false}));
  EXPECT_EQ(marks.of(host(2), SeatId(2)), Mark());
}

}  // namespace
}  // namespace muster::scheduler
