// Goal: the machine's promises to its node, one at a time. Method: one voter of three, its peers
// played by the test.

#include "scheduler/raft/raft.h"
#include "tests/scheduler/raft/one_voter.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace muster::scheduler {
namespace {

using std::chrono::milliseconds;

class RaftTest : public OneVoter {
 protected:
  /// Of three, its own-term entry durable nowhere yet.
  void lead() {
    start({host(1), host(2), host(3)});
    be_elected();
  }
  AppendReply answer_of(std::uint64_t match, std::uint64_t round = 1) {
    return {Term(1), ++reply_request, round, true, LogIndex(match), {}, {}, kConfigurationLevel};
  }
  void acknowledge(std::uint64_t match, std::uint64_t round) { hear(2, answer_of(match, round)); }
  AppendRequest append(std::uint64_t term, LogPosition previous, std::vector<LogEntry> entries) {
    return {Term(term), ++reply_request, 1, previous, LogIndex(), std::move(entries)};
  }
  SnapshotChunk chunk(LogPosition place, std::uint64_t total, std::uint64_t offset,
                      std::string bytes) {
    return {Term(1), ++reply_request, place,           raft->configuration(),
            total,   offset,          std::move(bytes)};
  }
  LogEntry command(std::uint64_t term) { return {Term(term), LogEntryKind::kCommand, "c"}; }

  std::uint64_t reply_request = 0;
};

TEST_F(RaftTest, ASingleVoterLeadsAndCommitsWhenItsDiskDoes) {
  start({host(1)});
  wait(Duration::zero());
  EXPECT_EQ(raft->role(), Role::kCandidate);
  sync();
  EXPECT_EQ(raft->role(), Role::kLeader);
  EXPECT_FALSE(raft->leads_with_own_term_applied());
  sync();
  EXPECT_TRUE(raft->leads_with_own_term_applied());
  step(Raft::Propose{"x"});
  EXPECT_TRUE(out.committed.empty());
  sync();
  ASSERT_EQ(out.committed.size(), 1U);
  EXPECT_EQ(out.committed[0].command, "x");
  step(Raft::Read{5});
  EXPECT_EQ(out.reads, (std::vector<ConfirmedRead>{{5, LogIndex(2)}}));
}

TEST_F(RaftTest, VoteRequestsWaitForTheOwnVoteOnDisk) {
  start({host(1), host(2), host(3)});
  wait(milliseconds(1500));
  hear(2, VoteReply{Term(1), true, true, sent<VoteRequest>().front().request});
  EXPECT_EQ(raft->role(), Role::kCandidate);
  EXPECT_TRUE(out.messages.empty());
  ASSERT_EQ(out.persists.size(), 1U);
  sync();
  EXPECT_EQ(sent<VoteRequest>().size(), 2U);
}

TEST_F(RaftTest, AVoteLeavesWhenItIsDurable) {
  start({host(1), host(2), host(3)});
  now += milliseconds(1100);
  hear(2, VoteRequest{Term(1), false, {}, 1});
  EXPECT_TRUE(out.messages.empty());
  sync();
  ASSERT_EQ(sent<VoteReply>().size(), 1U);
  EXPECT_TRUE(sent<VoteReply>()[0].granted);
  hear(3, VoteRequest{Term(1), false, {}, 1});
  EXPECT_FALSE(sent<VoteReply>().at(0).granted);
}

TEST_F(RaftTest, VotesAreRefusedWhileALeaderIsFreshUntilItsLinkResets) {
  start({host(1), host(2), host(3)});
  hear(2, append(1, {}, {}));
  sync();
  hear(3, VoteRequest{Term(2), true, {}, 1});
  EXPECT_TRUE(out.messages.empty());
  hear(3, VoteRequest{Term(2), false, {}, 1});
  EXPECT_TRUE(out.messages.empty());
  EXPECT_EQ(raft->term(), Term(1));
  step(Raft::LeaderLinkReset{host(2)});
  hear(3, VoteRequest{Term(2), true, {}, 2});
  ASSERT_EQ(sent<VoteReply>().size(), 1U);
  EXPECT_TRUE(sent<VoteReply>()[0].granted);
}

TEST_F(RaftTest, AcknowledgesPreviousPlusEntriesNotItsLastEntry) {
  start({host(1), host(2), host(3)});
  hear(2, append(1, {}, {command(1), command(1), command(1)}));
  EXPECT_TRUE(sent<AppendReply>().empty()) << "nothing is durable yet";
  sync();
  EXPECT_EQ(sent<AppendReply>().at(0).match, LogIndex(3));
  hear(3, append(2, {LogIndex(1), Term(1)}, {}));
  sync();
  EXPECT_EQ(sent<AppendReply>().at(0).match, LogIndex(1)) << "entries 2 and 3 are an old leader's";
}

TEST_F(RaftTest, AMissingPreviousIsAnsweredWithWhereToTryNext) {
  start({host(1), host(2), host(3)});
  hear(2, append(1, {}, {command(1), command(1)}));
  sync();
  hear(2, append(1, {LogIndex(9), Term(1)}, {command(1)}));
  ASSERT_EQ(sent<AppendReply>().size(), 1U);
  EXPECT_FALSE(sent<AppendReply>()[0].matched);
  EXPECT_EQ(sent<AppendReply>()[0].hint, (LogPosition{LogIndex(2), Term(1)}));
}

TEST_F(RaftTest, ReadsShareARoundBegunAfterThemAndNeedTheOwnTermEntry) {
  lead();
  step(Raft::Read{1});
  acknowledge(0, 1);
  EXPECT_TRUE(out.reads.empty()) << "the own-term entry is not committed";
  sync();
  acknowledge(1, 1);
  ASSERT_TRUE(raft->leads_with_own_term_applied());
  const std::uint64_t round = sent<AppendRequest>().back().round;
  step(Raft::Read{2});
  EXPECT_TRUE(out.reads.empty());
  acknowledge(1, round);
  EXPECT_EQ(out.reads, (std::vector<ConfirmedRead>{{1, LogIndex(1)}}));
  acknowledge(1, round + 1);
  EXPECT_EQ(out.reads, (std::vector<ConfirmedRead>{{2, LogIndex(1)}}));
}

TEST_F(RaftTest, ALeaderWithoutAMajorityStepsDownAndRefusesItsReads) {
  lead();
  step(Raft::Read{1});
  for (int beat = 0; beat < 5 && raft->role() == Role::kLeader; ++beat) {
    wait(RaftConfig().heartbeat);
  }
  EXPECT_EQ(raft->role(), Role::kFollower);
  EXPECT_TRUE(event("stepped_down"));
  EXPECT_EQ(sent<TimeoutNow>().size(), 1U) << "it may be heard all the same";
  EXPECT_EQ(out.refused_reads, (std::vector<std::uint64_t>{1}));
}

TEST_F(RaftTest, ALeaderWhoseDiskHangsHandsOverOnceTheOthersWentOn) {
  lead();
  sync();
  acknowledge(1, 1);
  step(Raft::Propose{"x"});
  for (int beat = 1; beat < 10; ++beat) {
    wait(milliseconds(330));
    acknowledge(1, static_cast<std::uint64_t>(beat));
  }
  EXPECT_EQ(raft->role(), Role::kLeader) << "the others wait for their disks, too";
  acknowledge(2, 10);
  hear(3, answer_of(2, 10));
  ASSERT_EQ(raft->commit(), LogIndex(2)) << "a majority without this host";
  wait(milliseconds(330));
  EXPECT_EQ(sent<TimeoutNow>().size(), 1U);
  wait(raft->next_deadline() - now);
  for (int beat = 11; raft->role() == Role::kLeader && beat < 20; ++beat) {
    acknowledge(2, static_cast<std::uint64_t>(beat));
    wait(milliseconds(330));
  }
  EXPECT_EQ(raft->role(), Role::kFollower) << "the heir did not take over";
  EXPECT_TRUE(event("stepped_down"));
}

TEST_F(RaftTest, AVoterThatNeverAnsweredThisLeadershipIsNotCountedOn) {
  lead();
  sync();
  acknowledge(1, 1);
  ASSERT_TRUE(raft->leads_with_own_term_applied());
  const Configuration next = raft->configuration().without(host(2));
  EXPECT_NE(raft->why_not(now, next), "") << "the third may be dead";
  hear(3, answer_of(1));
  EXPECT_EQ(raft->why_not(now, next), "");
}

TEST_F(RaftTest, AVoterWhoseDiskHangsDoesNotCampaign) {
  start({host(1), host(2), host(3)});
  hear(2, append(1, {}, {command(1)}));
  for (int tries = 0; tries < 5; ++tries) {
    wait(raft->next_deadline() - now);
    if (tries > 1) {
      EXPECT_TRUE(sent<VoteRequest>().empty());
      EXPECT_EQ(raft->role(), Role::kFollower);
    }
  }
  sync();
  wait(raft->next_deadline() - now);
  EXPECT_EQ(sent<VoteRequest>().size(), 2U);
}

TEST_F(RaftTest, ProposalsAreDroppedWhenNotLeadingOrTooLarge) {
  start({host(1), host(2), host(3)});
  step(Raft::Propose{"x"});
  EXPECT_TRUE(event("proposal_dropped"));
  lead();
  step(Raft::Propose{std::string(kEntryBytesMax + 1, 'x')});
  EXPECT_TRUE(event("proposal_dropped"));
}

TEST_F(RaftTest, AnUnknownEntryKindHaltsWhenItCommits) {
  start({host(1), host(2), host(3)});
  AppendRequest request = append(1, {}, {{Term(1), static_cast<LogEntryKind>(9), "?"}});
  hear(2, request);
  EXPECT_FALSE(raft->halted());
  request.commit = LogIndex(1);
  hear(2, request);
  EXPECT_TRUE(raft->halted());
  EXPECT_TRUE(event("raft_halted"));
  EXPECT_TRUE(out.committed.empty());
  EXPECT_EQ(raft->next_deadline(), kNever);
}

TEST_F(RaftTest, ALeaderThatContradictsACommittedEntryHalts) {
  start({host(1), host(2), host(3)});
  AppendRequest request = append(1, {}, {command(1)});
  request.commit = LogIndex(1);
  hear(2, request);
  hear(3, append(2, {}, {command(2)}));
  EXPECT_TRUE(raft->halted());
}

TEST_F(RaftTest, ASnapshotIsInstalledOnceAndAcknowledgedWhenDurable) {
  start({host(1), host(2), host(3)});
  const SnapshotChunk request = chunk({LogIndex(9), Term(1)}, 5, 0, "state");
  hear(2, request);
  ASSERT_TRUE(out.install.has_value());
  EXPECT_EQ(out.install->state, "state");
  EXPECT_TRUE(sent<SnapshotAck>().empty());
  sync();
  EXPECT_EQ(sent<SnapshotAck>().at(0).match, LogIndex(9));
  hear(2, request);
  EXPECT_FALSE(out.install.has_value());
  EXPECT_EQ(sent<SnapshotAck>().size(), 1U);
}

TEST_F(RaftTest, ASnapshotInPartsIsCollectedInOrder) {
  start({host(1), host(2), host(3)});
  const LogPosition place{LogIndex(9), Term(1)};
  hear(2, chunk(place, 10, 0, "0123"));
  sync();
  EXPECT_EQ(sent<SnapshotAck>().at(0).next, 4U);
  hear(2, chunk(place, 10, 8, "89"));
  EXPECT_EQ(sent<SnapshotAck>().at(0).next, 4U) << "a part is missing";
  hear(2, chunk(place, 10, 4, "4567"));
  hear(2, chunk(place, 10, 4, "4567"));
  EXPECT_EQ(sent<SnapshotAck>().at(0).next, 8U) << "twice is once";
  EXPECT_FALSE(out.install.has_value());
  hear(2, chunk(place, 10, 8, "89"));
  ASSERT_TRUE(out.install.has_value());
  EXPECT_EQ(out.install->state, "0123456789");
  hear(2, chunk({LogIndex(12), Term(1)}, 6, 3, "def"));
  EXPECT_EQ(sent<SnapshotAck>().at(0).next, 0U) << "another snapshot begins at its beginning";
}

/// Else it would need the next snapshot as soon as it has this one.
TEST_F(RaftTest, EntriesBehindASnapshotOnItsWayAreKept) {
  lead();
  sync();
  acknowledge(1, 1);
  const auto grow = [this] {
    const std::uint64_t first = raft->last_index().value();
    for (std::size_t i = 0; i < 2 * RaftConfig().entries_kept; ++i) {
      step(Raft::Propose{"x"});
    }
    sync();
    acknowledge(raft->last_index().value(), 1);
    ASSERT_EQ(raft->commit(), raft->last_index());
    ASSERT_GT(raft->commit().value(), first);
    step(Raft::Compact{raft->commit(), "state"});
    sync();
  };
  hear(3, answer_of(1));
  grow();
  std::vector<SnapshotChunk> chunks;
  for (int beats = 0; chunks.empty() && beats < 3; ++beats) {
    wait(milliseconds(340));  // The messages to 3 are taken for lost.
    chunks = sent<SnapshotChunk>();
  }
  ASSERT_EQ(chunks.size(), 1U);
  const LogIndex at = chunks[0].at.index;
  grow();
  EXPECT_EQ(raft->log().start().index, at) << "its answers are awaited";
  hear(3, SnapshotAck{Term(1), chunks[0].request, at, chunks[0].total, at});
  EXPECT_FALSE(sent<AppendRequest>().empty());
  EXPECT_TRUE(sent<SnapshotChunk>().empty());
  grow();
  EXPECT_GT(raft->log().start().index, at);
}

TEST_F(RaftTest, AStrangerMayLeadButItsAnswersCountForNothing) {
  start({host(1), host(2), host(3)});
  hear(9, VoteReply{Term(7), false, true, 1});
  EXPECT_EQ(raft->term(), Term(0));
  hear(9, append(7, {}, {}));
  EXPECT_EQ(raft->leader(), host(9)) << "its configuration may be newer than ours";
}

TEST_F(RaftTest, ANewLeaderChangesNothingBeforeItsFirstEntryCommitted) {
  lead();
  const Configuration next = raft->configuration().with_learner({host(4), SeatId(44)});
  EXPECT_NE(raft->why_not(now, next), "");
  step(Raft::Reconfigure{next});
  EXPECT_TRUE(event("configuration_refused"));
  sync();
  acknowledge(1, 1);
  EXPECT_EQ(raft->why_not(now, next), "");
  step(Raft::Reconfigure{next});
  EXPECT_EQ(raft->configuration(), next);
  EXPECT_NE(raft->why_not(now, next.without(host(3))), "") << "the change before is not committed";
}

TEST_F(RaftTest, ALearnerGetsTheLogAndCountsForNothingUntilItIsPromoted) {
  lead();
  sync();
  acknowledge(1, 1);
  const Configuration learning = raft->configuration().with_learner({host(4), SeatId(44)});
  step(Raft::Reconfigure{learning});
  sync();
  AppendReply answer = answer_of(2);
  answer.seat = SeatId(44);
  hear(4, answer);
  EXPECT_EQ(raft->commit(), LogIndex(1)) << "a learner's disk is no vote";
  acknowledge(2, 1);
  EXPECT_EQ(raft->commit(), LogIndex(2));
  EXPECT_EQ(raft->why_not(now, learning.with_promoted(host(4))), "");
  step(Raft::Reconfigure{learning.with_promoted(host(4))});
  sync();
  acknowledge(3, 1);
  EXPECT_EQ(raft->commit(), LogIndex(2)) << "two of four are no majority";
  answer.match = LogIndex(3);
  answer.seat = SeatId(45);
  hear(4, answer);
  EXPECT_EQ(raft->commit(), LogIndex(2)) << "another disk than the one that was promoted";
  answer.seat = SeatId(44);
  hear(4, answer);
  EXPECT_EQ(raft->commit(), LogIndex(3));
}

TEST_F(RaftTest, ANewLearnerIsProbedWithoutAnotherEntry) {
  lead();
  sync();
  acknowledge(1, 1);
  step(Raft::Reconfigure{raft->configuration().with_learner({host(4), SeatId(44)})});
  const std::vector<AppendRequest> all = sent<AppendRequest>();
  EXPECT_EQ(std::count_if(all.begin(), all.end(),
                          [](const AppendRequest& each) { return !each.entries.empty(); }),
            2)
      << "to the voter that follows and the learner; the third is probed already";
}

TEST_F(RaftTest, ARemovedLeaderStepsDownWhenItsRemovalIsCommitted) {
  lead();
  sync();
  acknowledge(1, 1);
  hear(3, answer_of(1));
  step(Raft::Reconfigure{raft->configuration().without(host(1))});
  sync();
  acknowledge(2, 1);
  EXPECT_EQ(raft->role(), Role::kLeader) << "its own disk counts for nothing any more";
  hear(3, answer_of(2));
  EXPECT_EQ(raft->role(), Role::kFollower);
  EXPECT_FALSE(raft->is_voter());
  EXPECT_EQ(raft->next_deadline(), kNever) << "it does not campaign";
}

TEST_F(RaftTest, ALeaderThatNobodyAnswersStepsDownAndALateOneBearsTwiceAsMuch) {
  lead();
  sync();
  Instant heard = now;
  const auto leads = [&] { return raft->role() == Role::kLeader; };
  while (leads() && now < heard + std::chrono::seconds(9)) {
    wait(raft->next_deadline() - now);
  }
  EXPECT_LE(now - heard, RaftConfig().check_quorum + RaftConfig().heartbeat);

  lead();
  sync();
  heard = now;
  const Duration late = RaftConfig().heartbeat + milliseconds(500);
  wait(late);
  wait(late);
  EXPECT_TRUE(leads()) << "the answers may lie unread";
  wait(late);
  EXPECT_FALSE(leads());
  EXPECT_LE(now - heard, 2 * RaftConfig().check_quorum + late);

  lead();
  sync();
  const Duration very_late = RaftConfig().heartbeat + std::chrono::seconds(2);
  wait(very_late);
  EXPECT_TRUE(leads());
  wait(very_late);
  EXPECT_FALSE(leads()) << "twice as much, and no more";
}

TEST_F(RaftTest, AConfigurationWhoseMajorityIsSilentIsRefused) {
  lead();
  sync();
  acknowledge(1, 1);
  EXPECT_EQ(raft->why_not(now, raft->configuration().without(host(3))), "");
  now += RaftConfig().check_quorum;
  acknowledge(1, 1);
  EXPECT_NE(raft->why_not(now, raft->configuration().without(host(2))), "")
      << "voter 3 has not been heard";
  EXPECT_EQ(raft->why_not(now, raft->configuration().without(host(3))), "");
}

TEST_F(RaftTest, AConfigurationThatAVoterWouldStopAtIsRefused) {
  lead();
  sync();
  acknowledge(1, 1);
  AppendReply of_first_release = answer_of(1);
  of_first_release.level = 0;
  hear(3, of_first_release);
  const Configuration next = raft->configuration().with_learner({host(4), SeatId(44)});
  EXPECT_NE(raft->why_not(now, next).find("upgrade it first"), std::string::npos);
  EXPECT_EQ(raft->why_not(now, raft->configuration().without(host(3))), "") << "it goes";
  hear(3, answer_of(1));
  EXPECT_EQ(raft->why_not(now, next), "");
}

TEST_F(RaftTest, ATruncatedConfigurationCountsNoLonger) {
  start({host(1), host(2), host(3)});
  const Configuration founders = raft->configuration();
  const Configuration next = founders.without(host(3));
  hear(2, append(1, {}, {{Term(1), LogEntryKind::kConfiguration, encode(next)}}));
  EXPECT_EQ(raft->configuration(), next);
  hear(3, append(2, {}, {command(2)}));
  EXPECT_EQ(raft->configuration(), founders);
}

TEST_F(RaftTest, LeadershipIsHandedToWhoHasTheWholeLog) {
  lead();
  sync();
  acknowledge(1, 1);
  step(Raft::Propose{"x"});
  step(Raft::Transfer{host(2)});
  EXPECT_TRUE(sent<TimeoutNow>().empty());
  step(Raft::Propose{"y"});
  EXPECT_TRUE(event("proposal_dropped"));
  acknowledge(2, 1);
  ASSERT_EQ(sent<TimeoutNow>().size(), 1U);
  hear(2, VoteRequest{Term(2), false, {LogIndex(2), Term(1)}, 1, true});
  EXPECT_EQ(raft->role(), Role::kFollower);
  sync();
  EXPECT_TRUE(sent<VoteReply>().at(0).granted) << "although it was a leader a moment ago";
}

TEST_F(RaftTest, AHandingOverThatFailsEnds) {
  lead();
  sync();
  acknowledge(1, 1);
  step(Raft::Transfer{host(3)});
  now += RaftConfig().transfer_patience;
  acknowledge(1, 1);
  wait(Duration::zero());
  EXPECT_TRUE(event("transfer_failed"));
  EXPECT_EQ(raft->role(), Role::kLeader);
  step(Raft::Propose{"x"});
  EXPECT_EQ(raft->last_index(), LogIndex(2));
}

TEST_F(RaftTest, WhoIsOfferedTheLeadershipCampaignsAtOnce) {
  start({host(1), host(2), host(3)});
  hear(2, append(1, {}, {}));
  hear(3, TimeoutNow{Term(1)});
  EXPECT_EQ(raft->role(), Role::kFollower) << "only the leader may offer it";
  hear(2, TimeoutNow{Term(1)});
  EXPECT_EQ(raft->role(), Role::kCandidate);
  sync();
  EXPECT_TRUE(sent<VoteRequest>().at(0).transfer);
}

TEST_F(RaftTest, AHostWithoutAVoteFollowsAndDoesNotCampaign) {
  RecoveredLog log;
  log.seat = SeatId(7);
  raft.emplace(RaftConfig(), host(1), Rng(1), std::move(log), now);
  take();
  EXPECT_EQ(raft->next_deadline(), kNever);
  hear(2, append(3, {}, {command(3)}));
  EXPECT_EQ(raft->leader(), host(2));
  sync();
  EXPECT_EQ(sent<AppendReply>().at(0).seat, SeatId(7));
  wait(std::chrono::seconds(10));
  EXPECT_EQ(raft->role(), Role::kFollower);
}

TEST_F(RaftTest, ATermOutOfReachIsDropped) {
  start({host(1), host(2), host(3)});
  const Term far(kTermLeapMax + 1);
  const std::vector<RaftMessage> messages = {VoteRequest{far, false, {}, 1},
                                             VoteReply{far, false, false, 1},
                                             AppendRequest{far, 1, 1, {}, {}, {}},
                                             AppendReply{far, 1, 1, false, {}, {}},
                                             SnapshotChunk{far, 1, {}, {}, 0, 0, {}},
                                             SnapshotAck{far, 1, {}, 0, {}, {}},
                                             TimeoutNow{far}};
  for (const RaftMessage& message : messages) {
    hear(2, message);
    EXPECT_TRUE(event("raft_message_dropped"));
    EXPECT_TRUE(out.messages.empty());
    EXPECT_EQ(raft->term(), Term(0));
  }
  hear(2, AppendRequest{Term(kTermLeapMax), 1, 1, {}, {}, {}});
  EXPECT_EQ(raft->term(), Term(kTermLeapMax));
}

TEST_F(RaftTest, ASecondLeaderOfATermIsNotObeyed) {
  start({host(1), host(2), host(3)});
  AppendRequest first = append(1, {}, {command(1)});
  first.commit = LogIndex(1);
  hear(2, first);
  hear(3, append(1, {}, {{Term(1), LogEntryKind::kCommand, "other"}, command(1)}));
  EXPECT_TRUE(event("second_leader"));
  EXPECT_EQ(raft->leader(), host(2));
  EXPECT_EQ(raft->last_index(), LogIndex(1));
  hear(3, chunk({LogIndex(9), Term(1)}, 5, 0, "state"));
  EXPECT_FALSE(event("second_leader"));
  EXPECT_FALSE(out.install.has_value());
  EXPECT_FALSE(raft->halted());
  hear(3, append(2, {LogIndex(1), Term(1)}, {}));
  EXPECT_EQ(raft->leader(), host(3));
}

TEST_F(RaftTest, ALeaderIsNotUnseatedInItsOwnTerm) {
  lead();
  hear(3, append(1, {}, {command(1)}));
  EXPECT_TRUE(event("second_leader"));
  EXPECT_EQ(raft->role(), Role::kLeader);
  EXPECT_FALSE(raft->halted());
}

TEST_F(RaftTest, PreVotesWithoutAMajorityAreToldOfNowAndThen) {
  start({host(1), host(2), host(3)});
  std::vector<std::string> told;
  for (int tries = 0; tries < 100; ++tries) {
    wait(raft->next_deadline() - now);
    EXPECT_EQ(sent<VoteRequest>().size(), 2U);
    for (const Event& event : out.events) {
      told.push_back(event.text());
    }
  }
  // A try takes 1.0 to 1.5 s: between 100 and 150 s passed.
  ASSERT_GE(told.size(), 4U);
  EXPECT_LE(told.size(), 6U);
  EXPECT_EQ(told.at(0), "pre_vote_started term=1");
  EXPECT_NE(told.at(1).find("pre_vote_started term=1 tries=2"), std::string::npos);
  hear(2, append(1, {}, {}));
  sync();
  wait(raft->next_deadline() - now);
  ASSERT_TRUE(event("pre_vote_started"));
  EXPECT_EQ(out.events.back().text(), "pre_vote_started term=2");
}

}  // namespace
}  // namespace muster::scheduler
