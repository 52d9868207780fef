// The agent's side of design 8, a sentence a rule. The fixture plays the disk, the supervisors and
// the leader; a write counts only after sync().

#include "agent/gang_agent.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace muster::agent {
namespace {

using namespace std::chrono_literals;  // NOLINT: literals only.
using scheduler::Assign;
using scheduler::Finish;
using scheduler::FinishAck;
using scheduler::GrantState;
using scheduler::Hello;
using scheduler::HelloReply;
using scheduler::Member;
using scheduler::RankResult;
using scheduler::Ready;
using scheduler::Refuse;
using scheduler::Renew;
using scheduler::RenewAck;

const HostId kMe = HostId::from_bytes("me______________");
const HostId kLeader = HostId::from_bytes("leader__________");
const HostId kOther = HostId::from_bytes("other___________");
constexpr AgentStart kStart{Generation(3), StartId(33)};
constexpr Duration kHold = 60s;
constexpr Token kOne{1, 10};
constexpr Token kTwo{1, 20};

class GangAgentTest : public testing::Test {
 protected:
  GangAgentTest() { boot(kStart); }

  void boot(AgentStart start) {
    start_ = start;
    agent_.emplace(GangAgentOptions{}, AgentIdentity{kMe, start, "boot", "me"}, disk_,
                   Inventory{"H100", {"a", "b"}, 4, 1024}, Rng(7), now_);
    unsynced_.clear();
    out_ = {};
  }

  /// Registered, with a known fence on both GPUs.
  void join() {
    give(SupervisorsScanned{});
    give(LeaderChanged{kLeader, Term(1)});
    sync();
    answer_hello({});
    sync();
    answer_hello({});
    clear();
  }

  void give(GangAgentInput input) {
    agent_->step(now_, std::move(input));
    collect();
  }
  void pass(Duration time) {
    const Instant end = now_ + time;
    while (agent_->next_deadline() <= end) {
      now_ = std::max(now_, agent_->next_deadline());
      agent_->tick(now_);
      collect();
    }
    now_ = end;
  }
  void collect() {
    agent_->check_invariants();
    GangAgentOutput output = agent_->take_output();
    std::move(output.messages.begin(), output.messages.end(), std::back_inserter(out_.messages));
    std::move(output.commands.begin(), output.commands.end(), std::back_inserter(out_.commands));
    std::move(output.persists.begin(), output.persists.end(), std::back_inserter(unsynced_));
    if (output.raise_to != Generation()) {
      out_.raise_to = output.raise_to;
    }
  }
  /// Everything written so far becomes durable, in order.
  void sync() {
    while (!unsynced_.empty()) {
      const AgentPersist write = unsynced_.front();
      unsynced_.erase(unsynced_.begin());
      for (const crdt::Write& one : write.writes) {
        if (one.value.has_value()) {
          disk_[one.key] = *one.value;
        } else {
          disk_.erase(one.key);
        }
      }
      give(Persisted{write.id});
    }
  }
  void clear() { out_ = {}; }

  template <class T>
  std::vector<T> sent() const {
    std::vector<T> found;
    for (const AgentSend& send : out_.messages) {
      if (const T* message = std::get_if<T>(&send.message)) {
        found.push_back(*message);
      }
    }
    return found;
  }
  template <class T>
  Nonce nonce_of_last() const {
    Nonce nonce;
    for (const AgentSend& send : out_.messages) {
      nonce = std::holds_alternative<T>(send.message) ? send.nonce : nonce;
    }
    return nonce;
  }
  template <class T>
  std::vector<T> commands() const {
    std::vector<T> found;
    for (const SupervisorCommand& command : out_.commands) {
      if (const T* one = std::get_if<T>(&command)) {
        found.push_back(*one);
      }
    }
    return found;
  }

  void say(scheduler::AgentMessage message, Nonce nonce = Nonce()) {
    give(LeaderMessage{kLeader, nonce, std::move(message)});
  }
  void answer_hello(HelloReply reply) {
    reply.start_id = start_.start_id;
    reply.registered = reply.raise_to == Generation();
    say(reply, nonce_of_last<Hello>());
  }
  Assign assign(Token token, std::vector<scheduler::GpuSlot> gpus = {{"a", 0}}) const {
    Assign message;
    message.token = token;
    message.start = start_;
    message.job = JobId(1);
    message.spec.argv = {"train"};
    message.members = {Member{kMe, start_, std::move(gpus), 0},
                       Member{kOther, {Generation(1), StartId(1)}, {{"z", 0}}, 1}};
    message.hold = kHold;
    return message;
  }
  void make_ready(Token token, std::vector<scheduler::GpuSlot> gpus = {{"a", 0}}) {
    say(assign(token, std::move(gpus)));
    sync();
    give(SupervisorPrepared{token, gossip::Endpoint::ipv4(10, 0, 0, 1, 4000)});
  }
  void start(Token token) {
    say(scheduler::Start{token, start_, gossip::Endpoint::ipv4(10, 0, 0, 1, 4000)});
  }
  void stop(Token token) { say(scheduler::Stop{token, start_, 10s, "cancel"}); }
  void make_running(Token token) {
    make_ready(token);
    start(token);
    sync();
    give(RanksStarted{token});
  }
  std::vector<RankResult> ended(std::int32_t code) const {
    RankResult result;
    result.code = code;
    return {result};
  }
  std::optional<GrantState> state_of(Token token) const {
    const GrantRecord* record = agent_->find(token);
    return record == nullptr ? std::nullopt : std::optional(record->state);
  }
  std::optional<GrantState> stored_state_of(Token token) const {
    const auto it = disk_.find(key_of_grant(token));
    return it == disk_.end() ? std::nullopt : std::optional(decode_grant(it->second).value().state);
  }

  Instant now_{1000s};
  AgentStart start_;
  crdt::Records disk_;
  std::vector<AgentPersist> unsynced_;
  std::optional<GangAgent> agent_;
  GangAgentOutput out_;
};

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

TEST_F(GangAgentTest, ReadyWaitsForTheDiskAndTheSupervisor) {
  join();
  say(assign(kOne));
  ASSERT_EQ(commands<Prepare>().size(), 1U);
  EXPECT_TRUE(commands<Prepare>()[0].hold_master_port);
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
  kept.spec.keep_when_isolated = true;
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

TEST_F(GangAgentTest, StuckRanksMakeTheNewerGrantBeRefused) {
  join();
  make_running(kOne);
  make_ready(kTwo);
  clear();
  pass(10s + 5s + 1s);
  ASSERT_EQ(sent<Refuse>().size(), 1U);
  EXPECT_EQ(sent<Refuse>()[0].reason, "stuck");
  EXPECT_TRUE(agent_->grants()[0].stuck);
}

TEST_F(GangAgentTest, AStuckGpuIsWithheldAndOfferedAgainWhenItsRanksAreGone) {
  join();
  make_running(kOne);
  stop(kOne);
  clear();
  pass(10s + 5s + 1s);
  ASSERT_FALSE(sent<Hello>().empty());
  EXPECT_EQ(sent<Hello>().back().stuck, std::vector<std::string>{"a"});
  answer_hello({});
  clear();
  give(AllRanksEnded{kOne, ended(137)});
  sync();
  ASSERT_FALSE(sent<Hello>().empty());
  EXPECT_TRUE(sent<Hello>().back().stuck.empty());
}

TEST_F(GangAgentTest, WithoutANamespaceOnlyAKeptJobIsTaken) {
  join();
  say(assign(kOne));
  sync();
  give(SupervisorPrepared{kOne, {}, false});
  sync();
  EXPECT_EQ(stored_state_of(kOne), GrantState::kAborted);
  ASSERT_EQ(sent<Refuse>().size(), 1U);
  EXPECT_NE(sent<Refuse>()[0].reason.find("no PID namespace"), std::string::npos);
  EXPECT_TRUE(sent<Ready>().empty());
  ASSERT_FALSE(sent<Hello>().empty());
  EXPECT_FALSE(sent<Hello>().back().has_namespaces);
  Assign kept = assign(kTwo);
  kept.spec.keep_when_isolated = true;
  say(kept);
  sync();
  give(SupervisorPrepared{kTwo, {}, false});
  EXPECT_EQ(sent<Ready>().size(), 1U);
}

TEST_F(GangAgentTest, StuckRanksAreLookedAtAgainAndOnceAfter) {
  join();
  make_running(kOne);
  stop(kOne);
  pass(10s + 5s + 1s);
  answer_hello({});
  clear();
  pass(30s);
  ASSERT_EQ(commands<Terminate>().size(), 1U);
  EXPECT_EQ(commands<Terminate>()[0].token, kOne);
  EXPECT_FALSE(sent<Hello>().empty()) << "the leader may have logged more than is stuck";
  give(SupervisorGone{kOne, std::nullopt});
  sync();
  answer_hello({});
  clear();
  pass(30s);
  EXPECT_TRUE(commands<Terminate>().empty());
  ASSERT_FALSE(sent<Hello>().empty());
  answer_hello({});
  clear();
  pass(5min);
  EXPECT_TRUE(sent<Hello>().empty());
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

TEST_F(GangAgentTest, AFailedPrepareIsRefused) {
  join();
  say(assign(kOne));
  give(LaunchFailed{kOne, "disk full"});
  sync();
  ASSERT_EQ(sent<Refuse>().size(), 1U);
  EXPECT_EQ(stored_state_of(kOne), GrantState::kAborted);
}

}  // namespace
}  // namespace muster::agent
