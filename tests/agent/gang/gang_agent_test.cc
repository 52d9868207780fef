// The agent's side of scheduler/PROTOCOL.md, a sentence a rule.

#include "tests/agent/gang/gang_agent_desk.h"

namespace muster::agent {
namespace {

using namespace std::chrono_literals;  // NOLINT: literals only.
using namespace testing;               // NOLINT: the fixture's verbs

TEST_F(GangAgentTest, GrantRecordsRoundTrip) {
  join();
  make_ready(kOne);
  const GrantRecord* record = agent_->find(kOne);
  ASSERT_NE(record, nullptr);
  EXPECT_EQ(decode_grant(encode(*record)), *record);
  EXPECT_FALSE(decode_grant("junk").has_value());
}

TEST_F(GangAgentTest, OffersNothingBeforeTheFloorIsToldAndDurable) {
  give(LeaderChanged{kLeader, Term(1)});
  EXPECT_TRUE(sent<Hello>().empty()) << "supervisors are not scanned yet";
  give(SupervisorsScanned{});
  ASSERT_EQ(sent<Hello>().size(), 1U);
  EXPECT_TRUE(sent<Hello>()[0].gpus.empty());
  HelloReply reply;
  reply.floor = kOne;
  answer_hello(reply);
  sync();
  EXPECT_EQ(sent<Hello>().back().gpus.size(), 2U);
  answer_hello({});
  clear();
  say(assign(kOne));
  ASSERT_EQ(sent<Refuse>().size(), 1U);
  EXPECT_EQ(sent<Refuse>()[0].reason, "stale token");
}

TEST_F(GangAgentTest, HelloIsRepeatedUntilAReplyRegistersThisStart) {
  give(SupervisorsScanned{});
  give(LeaderChanged{kLeader, Term(1)});
  pass(3s);
  EXPECT_GE(sent<Hello>().size(), 3U);
  HelloReply stranger;
  stranger.start_id = StartId(99);
  stranger.registered = true;
  say(stranger, nonce_of_last<Hello>());
  EXPECT_FALSE(agent_->is_registered());
  answer_hello({});
  EXPECT_TRUE(agent_->is_registered());
}

TEST_F(GangAgentTest, ARefusedGenerationAsksForARestart) {
  give(SupervisorsScanned{});
  give(LeaderChanged{kLeader, Term(1)});
  HelloReply reply;
  reply.raise_to = Generation(8);
  answer_hello(reply);
  EXPECT_EQ(out_.raise_to, Generation(8));
  clear();
  pass(10s);
  EXPECT_TRUE(out_.messages.empty());
}

TEST_F(GangAgentTest, WhyItIsNotRegisteredIsToldOnceForEachReason) {
  give(SupervisorsScanned{});
  give(LeaderChanged{kLeader, Term(1)});
  const auto refuse = [this](std::string why) {
    HelloReply reply;
    reply.start_id = start_.start_id;
    reply.why = std::move(why);
    say(reply, nonce_of_last<Hello>());
    pass(3s);
  };
  refuse("too many GPUs");
  refuse("too many GPUs");
  EXPECT_EQ(told("not_registered"), 1);
  refuse("");  // As an older leader says it.
  refuse("too many GPUs");
  EXPECT_EQ(told("not_registered"), 1);
  refuse("something else");
  EXPECT_EQ(told("not_registered"), 2);
  EXPECT_FALSE(agent_->is_registered());
}

TEST_F(GangAgentTest, ATakenNameEndsNothingThatWasRegisteredBefore) {
  HelloReply taken;
  taken.why = "its name is taken";
  taken.is_name_taken = true;
  join();
  give(LeaderChanged{kLeader, Term(2)});
  answer_hello(taken);
  EXPECT_EQ(out_.ends, "") << "what it runs would go with it";
}

TEST_F(GangAgentTest, ATakenNameIsTheEndOfAFirstHello) {
  give(SupervisorsScanned{});
  give(LeaderChanged{kLeader, Term(1)});
  HelloReply taken;
  taken.why = "its name is taken";
  taken.is_name_taken = true;
  answer_hello(taken);
  EXPECT_EQ(out_.ends, "its name is taken");
  clear();
  pass(10s);
  EXPECT_TRUE(out_.messages.empty());
}

TEST_F(GangAgentTest, ReadyWaitsForTheDiskAndTheSupervisor) {
  join();
  say(assign(kOne));
  ASSERT_EQ(commands<Prepare>().size(), 1U);
  EXPECT_TRUE(commands<Prepare>()[0].hold_master_port);
  EXPECT_EQ(commands<Prepare>()[0].user, "anna");
  give(SupervisorPrepared{kOne, gossip::Endpoint::ipv4(10, 0, 0, 1, 4000)});
  EXPECT_TRUE(sent<Ready>().empty()) << "the grant is not durable";
  sync();
  ASSERT_EQ(sent<Ready>().size(), 1U);
  EXPECT_EQ(sent<Ready>()[0].master.port, 4000);
  EXPECT_EQ(stored_state_of(kOne), GrantState::kReady);
}

TEST_F(GangAgentTest, LowerIsRefusedEqualGetsTheStoredAnswer) {
  join();
  make_ready(kTwo);
  clear();
  say(assign(kTwo));
  EXPECT_EQ(sent<Ready>().size(), 1U);
  say(assign(kOne));
  ASSERT_EQ(sent<Refuse>().size(), 1U);
  EXPECT_EQ(sent<Refuse>()[0].reason, "stale token");
}

TEST_F(GangAgentTest, ASliceBelowAWholeDeviceTokenIsRefused) {
  join();
  make_ready(kTwo, {{"a", 0}});
  clear();
  say(assign(kOne, {{"a", 2}}));
  EXPECT_EQ(sent<Refuse>().size(), 1U);
  say(assign(kOne, {{"b", 2}}));
  EXPECT_EQ(sent<Refuse>().size(), 1U) << "another device is free";
}

TEST_F(GangAgentTest, NothingIsTakenWhileLeaving) {
  join();
  give(LeaveBegun{});
  say(assign(kOne));
  sync();
  ASSERT_EQ(sent<Refuse>().size(), 1U);
  EXPECT_EQ(sent<Refuse>()[0].reason, "leaving");
  EXPECT_TRUE(commands<Prepare>().empty());
  EXPECT_TRUE(agent_->grants().empty());
}

TEST_F(GangAgentTest, AHostThatCanStartNothingTakesNothingAndSaysWhy) {
  join();
  give(ShortageChanged{"disk: 3 MiB free"});
  EXPECT_EQ(agent_->shortage(), "disk: 3 MiB free");
  say(assign(kOne));
  sync();
  ASSERT_EQ(sent<Refuse>().size(), 1U);
  EXPECT_EQ(sent<Refuse>()[0].reason, "disk: 3 MiB free");
  EXPECT_TRUE(agent_->grants().empty());
  give(ShortageChanged{""});
  say(assign(kTwo));
  EXPECT_EQ(agent_->grants().size(), 1U);
}

TEST_F(GangAgentTest, AMessageForAnotherStartIsDropped) {
  join();
  Assign message = assign(kOne);
  message.start.start_id = StartId(1);
  say(message);
  EXPECT_EQ(state_of(kOne), std::nullopt);
  make_ready(kOne);
  clear();
  say(scheduler::Start{kOne, {Generation(2), StartId(1)}, {}});
  sync();
  EXPECT_TRUE(commands<Launch>().empty());
  EXPECT_EQ(agent_->dropped_count(), 2U);
}

TEST_F(GangAgentTest, StartingIsDurableBeforeTheLaunch) {
  join();
  make_ready(kOne);
  start(kOne);
  EXPECT_TRUE(commands<Launch>().empty());
  sync();
  ASSERT_EQ(commands<Launch>().size(), 1U);
  EXPECT_EQ(stored_state_of(kOne), GrantState::kStarting);
  start(kOne);
  sync();
  EXPECT_EQ(commands<Launch>().size(), 1U) << "a repeated Start launches nothing";
}

TEST_F(GangAgentTest, StartBeforeReadyWasSentIsNotObeyed) {
  join();
  say(assign(kOne));
  start(kOne);
  sync();
  EXPECT_TRUE(commands<Launch>().empty());
  EXPECT_EQ(state_of(kOne), GrantState::kReady);
}

TEST_F(GangAgentTest, ALapseInReadyAbortsAndARepeatedAssignDoesNotPostponeIt) {
  join();
  make_ready(kOne);
  pass(kHold / 2);
  say(assign(kOne));
  pass(kHold / 2);
  sync();
  EXPECT_EQ(stored_state_of(kOne), GrantState::kAborted);
  clear();
  start(kOne);
  sync();
  EXPECT_TRUE(commands<Launch>().empty());
  ASSERT_EQ(sent<Finish>().size(), 1U);
  EXPECT_EQ(sent<Finish>()[0].results.at(0).kind, RankResult::Kind::kNeverRan);
}

TEST_F(GangAgentTest, OnlyAnAcknowledgedRenewalMovesTheHoldAndItCountsFromItsSend) {
  join();
  make_running(kOne);
  const Instant ready_at = now_;
  clear();
  pass(20s);
  ASSERT_GE(sent<Renew>().size(), 3U);
  Instant sent_at = now_;
  clear();
  while (sent<Renew>().empty()) {
    pass(100ms);
    sent_at = now_;
  }
  const Nonce nonce = nonce_of_last<Renew>();
  pass(3s);
  say(RenewAck{{kOne}}, Nonce(1));
  EXPECT_EQ(agent_->grants()[0].hold_until, ready_at + kHold) << "an unknown nonce counts nothing";
  say(RenewAck{{kOne}}, nonce);
  const Instant until = agent_->grants()[0].hold_until;
  EXPECT_LE(until, sent_at + kHold);
  EXPECT_GT(until, sent_at + kHold - 101ms);
  EXPECT_EQ(commands<RenewHold>().back().hold_until, until);
}

TEST_F(GangAgentTest, ARenewalSaysWhichGrantsWaitForTheirStart) {
  join();
  make_ready(kOne);
  pass(10s);
  ASSERT_FALSE(sent<Renew>().empty());
  EXPECT_EQ(sent<Renew>().back().unstarted, std::vector<Token>{kOne});
  start(kOne);
  sync();
  give(RanksStarted{kOne});
  pass(10s);
  EXPECT_EQ(sent<Renew>().back().unstarted, std::vector<Token>());
}

/// It died between the durable STARTING and the Launch, and the Starts to its next life were lost.
TEST_F(GangAgentTest, ARenewalSaysThatAnInterruptedStartHasToBeSaidAgain) {
  join();
  make_ready(kOne);
  start(kOne);
  disk_[unsynced_.at(0).writes.at(0).key] = *unsynced_.at(0).writes.at(0).value;
  boot({Generation(4), StartId(44)});
  give(LeaderChanged{kLeader, Term(1)});
  give(SupervisorAdopted{kOne, false, now_ + kHold, {}});
  give(SupervisorsScanned{});
  answer_hello({});
  pass(10s);
  ASSERT_FALSE(sent<Renew>().empty());
  EXPECT_EQ(sent<Renew>().back().tokens, std::vector<Token>{kOne});
  EXPECT_EQ(sent<Renew>().back().unstarted, std::vector<Token>{kOne});
  start(kOne);
  EXPECT_EQ(commands<Launch>().size(), 1U);
  pass(10s);
  EXPECT_EQ(sent<Renew>().back().unstarted, std::vector<Token>());
}

TEST_F(GangAgentTest, ARenewalWithoutTheTokenMovesNothing) {
  join();
  make_running(kOne);
  const Instant until = agent_->grants()[0].hold_until;
  pass(10s);
  say(RenewAck{{}}, nonce_of_last<Renew>());
  EXPECT_EQ(agent_->grants()[0].hold_until, until);
}

TEST_F(GangAgentTest, IsolationStopsRunningRanksUnlessTheyAreKept) {
  join();
  make_running(kOne);
  Assign kept = assign(kTwo, {{"b", 0}});
  kept.spec.limits.keep_when_isolated = true;
  say(kept);
  sync();
  give(SupervisorPrepared{kTwo, {}});
  start(kTwo);
  sync();
  pass(kHold + 1s);
  ASSERT_EQ(commands<Terminate>().size(), 1U);
  EXPECT_EQ(commands<Terminate>()[0].token, kOne);
  EXPECT_EQ(commands<Terminate>()[0].reason, "isolated");
}

TEST_F(GangAgentTest, StopInReadyAbortsAndIsAnsweredWithFinish) {
  join();
  make_ready(kOne);
  clear();
  stop(kOne);
  EXPECT_TRUE(sent<Finish>().empty()) << "ABORTED is not durable";
  sync();
  EXPECT_EQ(stored_state_of(kOne), GrantState::kAborted);
  ASSERT_EQ(sent<Finish>().size(), 1U);
  EXPECT_EQ(sent<Finish>()[0].results.at(0).kind, RankResult::Kind::kNeverRan);
  EXPECT_EQ(commands<Forget>().size(), 1U);
}

TEST_F(GangAgentTest, StopBeforeTheLaunchPreventsIt) {
  join();
  make_ready(kOne);
  start(kOne);
  stop(kOne);
  sync();
  EXPECT_TRUE(commands<Launch>().empty());
  EXPECT_EQ(stored_state_of(kOne), GrantState::kAborted);
}

TEST_F(GangAgentTest, FinishIsDurableFirstRepeatedUntilAcknowledgedThenForgotten) {
  join();
  make_running(kOne);
  stop(kOne);
  EXPECT_EQ(commands<Terminate>().size(), 1U);
  clear();
  give(AllRanksEnded{kOne, ended(3)});
  EXPECT_TRUE(sent<Finish>().empty());
  sync();
  EXPECT_EQ(sent<Finish>().size(), 1U);
  pass(60s);
  EXPECT_GE(sent<Finish>().size(), 6U);
  EXPECT_EQ(sent<Finish>().back().results.at(0).code, 3);
  say(FinishAck{kOne}, nonce_of_last<Finish>());
  sync();
  EXPECT_EQ(stored_state_of(kOne), std::nullopt);
  EXPECT_EQ(commands<Forget>().size(), 1U);
  clear();
  say(assign(kOne));
  EXPECT_EQ(sent<Refuse>().size(), 1U) << "the fence stays";
}

TEST_F(GangAgentTest, ANewLeaderIsGreetedAndToldAgain) {
  join();
  make_running(kOne);
  give(AllRanksEnded{kOne, ended(0)});
  sync();
  pass(30s);
  clear();
  give(LeaderChanged{kOther, Term(2)});
  ASSERT_EQ(sent<Hello>().size(), 1U);
  EXPECT_EQ(sent<Hello>()[0].grants.at(0).state, GrantState::kEnded);
  EXPECT_EQ(sent<Finish>().size(), 1U);
  EXPECT_FALSE(agent_->is_registered());
}

TEST_F(GangAgentTest, OfManyHostsARegisteredOneGreetsANewLeaderSometime) {
  join();
  give(LeaderChanged{HostId(), Term(2), 10s});
  give(LeaderChanged{kOther, Term(2), 10s});
  EXPECT_TRUE(sent<Hello>().empty());
  pass(10s);
  EXPECT_FALSE(sent<Hello>().empty());
}

TEST_F(GangAgentTest, OutputThatIsDroppedIsAnEvent) {
  join();
  make_running(kOne);
  clear();
  give(OutputDropped{kOne, 3, 100, 0, false});
  give(OutputDropped{kOne, 3, 700, 0, true});
  give(OutputDropped{kOne, 4, 0, 9, true});
  std::vector<std::string_view> details;
  for (const Event& event : out_.events) {
    EXPECT_EQ(event.name, "output_dropped");
    details.push_back(event.field("detail"));
  }
  EXPECT_EQ(
      details,
      (std::vector<std::string_view>{
          "rank 3: output is dropped from here on: the disk is full",
          "rank 3 wrote 700 bytes more than is kept: the disk is full",
          "rank 4 wrote 9 bytes more than is kept: the limit of a rank's output is reached"}));
}

TEST_F(GangAgentTest, TheAckOfAnEarlyFailureDoesNotEndTheGrant) {
  join();
  make_running(kOne);
  clear();
  give(RankFailedEarly{kOne, ended(9)[0]});
  ASSERT_EQ(sent<Finish>().size(), 1U);
  EXPECT_FALSE(sent<Finish>()[0].last);
  const Nonce nonce = nonce_of_last<Finish>();
  give(AllRanksEnded{kOne, ended(9)});
  sync();
  EXPECT_TRUE(sent<Finish>().back().last);
  say(FinishAck{kOne}, nonce);
  EXPECT_EQ(state_of(kOne), GrantState::kEnded);
}

TEST_F(GangAgentTest, TheAckOfWhatNeverRanForgetsTheGrant) {
  join();
  make_ready(kOne);
  stop(kOne);
  sync();
  ASSERT_EQ(sent<Finish>().size(), 1U);
  say(FinishAck{kOne}, nonce_of_last<Finish>());
  EXPECT_EQ(state_of(kOne), std::nullopt);
}

TEST_F(GangAgentTest, HigherRevokesAndIsReadyOnlyWhenTheOlderRanksAreGone) {
  join();
  make_running(kOne);
  clear();
  make_ready(kTwo);
  ASSERT_EQ(commands<Terminate>().size(), 1U);
  EXPECT_EQ(commands<Terminate>()[0].reason, "revoked");
  EXPECT_TRUE(sent<Ready>().empty());
  give(AllRanksEnded{kOne, ended(0)});
  ASSERT_EQ(sent<Ready>().size(), 1U);
  EXPECT_EQ(sent<Ready>()[0].token, kTwo);
}

TEST_F(GangAgentTest, HigherAbortsAnOlderReadyAtOnce) {
  join();
  make_ready(kOne);
  make_ready(kTwo);
  sync();
  EXPECT_EQ(stored_state_of(kOne), GrantState::kAborted);
  EXPECT_EQ(sent<Ready>().back().token, kTwo);
}

TEST_F(GangAgentTest, ReadyDoesNotSurviveARestartAndThatIsDurableBeforeHello) {
  join();
  make_ready(kOne);
  boot({Generation(4), StartId(44)});
  give(LeaderChanged{kLeader, Term(1)});
  give(SupervisorsScanned{});
  EXPECT_TRUE(sent<Hello>().empty());
  sync();
  ASSERT_EQ(sent<Hello>().size(), 1U);
  EXPECT_EQ(sent<Hello>()[0].grants.at(0).state, GrantState::kAborted);
}

TEST_F(GangAgentTest, ARunningGrantIsAdoptedWithItsHold) {
  join();
  make_running(kOne);
  boot({Generation(4), StartId(44)});
  give(LeaderChanged{kLeader, Term(1)});
  give(SupervisorAdopted{kOne, true, now_ + 7s, {}});
  give(SupervisorsScanned{});
  ASSERT_EQ(sent<Hello>().size(), 1U);
  EXPECT_EQ(sent<Hello>()[0].grants.at(0).state, GrantState::kRunning);
  pass(8s);
  ASSERT_EQ(commands<Terminate>().size(), 1U);
  EXPECT_EQ(commands<Terminate>()[0].reason, "isolated");
}

TEST_F(GangAgentTest, AStartedGrantWithoutSupervisorOrEvidenceIsLost) {
  join();
  make_running(kOne);
  boot({Generation(4), StartId(44)});
  give(LeaderChanged{kLeader, Term(1)});
  give(SupervisorsScanned{});
  sync();
  ASSERT_EQ(sent<Finish>().size(), 1U);
  EXPECT_EQ(sent<Finish>()[0].results.at(0).kind, RankResult::Kind::kLost);
  EXPECT_EQ(sent<Finish>()[0].start.generation, Generation(4));
}

TEST_F(GangAgentTest, EvidenceOfADeadSupervisorIsReportedAfterARestart) {
  join();
  make_running(kOne);
  boot({Generation(4), StartId(44)});
  give(LeaderChanged{kLeader, Term(1)});
  give(SupervisorGone{kOne, ended(0)});
  give(SupervisorsScanned{});
  sync();
  ASSERT_FALSE(sent<Finish>().empty());
  EXPECT_TRUE(sent<Finish>()[0].results.at(0).is_success());
}

TEST_F(GangAgentTest, OrphansAreEndedBeforeHello) {
  give(LeaderChanged{kLeader, Term(1)});
  give(SupervisorAdopted{kTwo, true, now_ + 1h, {}});
  give(SupervisorsScanned{});
  EXPECT_TRUE(sent<Hello>().empty());
  ASSERT_EQ(commands<Terminate>().size(), 1U);
  give(AllRanksEnded{kTwo, {}});
  EXPECT_EQ(sent<Hello>().size(), 1U);
}

TEST_F(GangAgentTest, AKillInTheReplyEndsWhatIsOverInTheLog) {
  join();
  make_running(kOne);
  say(assign(kTwo, {{"b", 0}}));
  sync();
  give(LeaderChanged{kLeader, Term(2)});
  HelloReply reply;
  reply.kill = {kOne, kTwo};
  answer_hello(reply);
  sync();
  ASSERT_EQ(commands<Terminate>().size(), 1U);
  EXPECT_EQ(commands<Terminate>()[0].token, kOne);
  EXPECT_EQ(state_of(kTwo), std::nullopt);
}

TEST_F(GangAgentTest, AFailedLaunchIsToldWithItsReason) {
  join();
  make_ready(kOne);
  start(kOne);
  sync();
  clear();
  give(LaunchFailed{kOne, "no memory"});
  sync();
  ASSERT_EQ(sent<Finish>().size(), 1U);
  EXPECT_EQ(sent<Finish>()[0].results.at(0).kind, RankResult::Kind::kNotStarted);
  EXPECT_EQ(sent<Finish>()[0].results.at(0).detail, "no memory");
}

TEST_F(GangAgentTest, OrdersAboutGpusAreHeardOnceAndAcknowledged) {
  join();
  const scheduler::GpuOrder mask{"a", true, "fan", "ann@a", 7, {1, 20}};
  const scheduler::GpuOrder unmask{"b", false, "well", "ann@a", 8, {1, 30}};
  const auto heard = [&](AgentStart start, std::vector<scheduler::GpuOrder> orders) {
    agent_->step(now_, LeaderMessage{kLeader, Nonce(), scheduler::GpuOrders{start, orders}});
    GangAgentOutput output = agent_->take_output();
    std::move(output.messages.begin(), output.messages.end(), std::back_inserter(out_.messages));
    return output.gpu_orders;
  };
  using Orders = std::vector<scheduler::GpuOrder>;
  EXPECT_EQ(heard(kStart, {mask, unmask}), (Orders{mask, unmask}));
  EXPECT_EQ(agent_->order_heard(), (Token{1, 30}));
  EXPECT_EQ(heard(kStart, {mask, unmask}), Orders{}) << "repeated";
  EXPECT_EQ(heard(kStart, {mask}), Orders{}) << "late";
  ASSERT_EQ(sent<scheduler::GpuOrdersAck>().size(), 3U);
  for (const scheduler::GpuOrdersAck& ack : sent<scheduler::GpuOrdersAck>()) {
    EXPECT_EQ(ack, (scheduler::GpuOrdersAck{kStart, {1, 30}}));
  }
  scheduler::GpuOrder after_recovery = mask;
  after_recovery.at = {2, 25};
  EXPECT_EQ(heard(kStart, {after_recovery}), Orders{after_recovery})
      << "a lost quorum may have given its index before";
  const std::uint64_t dropped = agent_->dropped_count();
  EXPECT_EQ(heard({Generation(2), StartId(22)}, {unmask}), Orders{}) << "of another start";
  EXPECT_EQ(sent<scheduler::GpuOrdersAck>().size(), 4U);
  EXPECT_EQ(agent_->dropped_count(), dropped + 1);
}

TEST_F(GangAgentTest, AFailedPrepareIsRefused) {
  join();
  say(assign(kOne));
  give(LaunchFailed{kOne, "disk full"});
  sync();
  ASSERT_EQ(sent<Refuse>().size(), 1U);
  EXPECT_EQ(sent<Refuse>()[0].reason, "launch failed: disk full");
  EXPECT_EQ(stored_state_of(kOne), GrantState::kAborted);
}

TEST_F(GangAgentTest, AUserWhoseRanksMayNotRunIsRefusedInItsOwnWords) {
  join();
  say(assign(kOne));
  give(LaunchFailed{kOne, "user anna is unknown on this host", true});
  sync();
  ASSERT_EQ(sent<Refuse>().size(), 1U);
  EXPECT_EQ(sent<Refuse>()[0].reason, "user anna is unknown on this host");
  EXPECT_EQ(stored_state_of(kOne), GrantState::kAborted);
}

}  // namespace
}  // namespace muster::agent
