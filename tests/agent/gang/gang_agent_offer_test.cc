// A host does not offer GPUs under ranks that do not die, nor holds that it could not keep.

#include "tests/agent/gang/gang_agent_desk.h"

namespace muster::agent {
namespace {

using namespace std::chrono_literals;  // NOLINT: literals only.
using namespace testing;               // NOLINT: the fixture's verbs

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
  // It may have been a shortage: the host goes on offering itself for such jobs.
  EXPECT_TRUE(sent<Hello>().empty() || sent<Hello>().back().has_namespaces);
  Assign kept = assign(kTwo);
  kept.spec.limits.keep_when_isolated = true;
  say(kept);
  sync();
  give(SupervisorPrepared{kTwo, {}, false});
  EXPECT_EQ(sent<Ready>().size(), 1U);
}

TEST_F(GangAgentTest, AHostThatShowsItHasNamespacesOffersThemAgain) {
  join();
  Inventory without{"H100", {"a", "b"}, 0, 0, false};
  give(InventoryChanged{without});
  Assign kept = assign(kOne);
  kept.spec.limits.keep_when_isolated = true;
  say(kept);
  sync();
  clear();
  give(SupervisorPrepared{kOne, {}, true});
  ASSERT_FALSE(sent<Hello>().empty());
  EXPECT_TRUE(sent<Hello>().back().has_namespaces);
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

TEST_F(GangAgentTest, ASilentSupervisorCostsItsGpusNotTheHost) {
  join();
  make_running(kOne);
  boot({Generation(4), StartId(44)});
  give(SupervisorSilent{kOne});
  give(SupervisorsScanned{});
  give(LeaderChanged{kLeader, Term(1)});
  ASSERT_FALSE(sent<Hello>().empty());
  const Hello hello = sent<Hello>().back();
  EXPECT_EQ(hello.stuck, std::vector<std::string>{"a"});
  ASSERT_EQ(hello.grants.size(), 1U);
  EXPECT_EQ(hello.grants[0].state, GrantState::kStarting) << "its ranks may be running well";
  answer_hello({});
  clear();
  pass(6s);
  EXPECT_FALSE(sent<Renew>().empty());
  EXPECT_TRUE(commands<Terminate>().empty());
  give(SupervisorAdopted{kOne, true, now_ + kHold, {}});
  ASSERT_FALSE(sent<Hello>().empty());
  EXPECT_TRUE(sent<Hello>().back().stuck.empty());
  EXPECT_EQ(state_of(kOne), GrantState::kRunning);
}

TEST_F(GangAgentTest, ASilentSupervisorThatIsToStopIsToldAgainWhenItAnswers) {
  join();
  make_running(kOne);
  boot({Generation(4), StartId(44)});
  give(SupervisorSilent{kOne});
  give(SupervisorsScanned{});
  give(LeaderChanged{kLeader, Term(1)});
  answer_hello({});
  stop(kOne);
  clear();
  give(SupervisorAdopted{kOne, true, now_ + kHold, {}});
  EXPECT_EQ(commands<Terminate>().size(), 1U);
  EXPECT_EQ(state_of(kOne), GrantState::kStopping);
}

TEST_F(GangAgentTest, ASilentSupervisorThatLaunchedNothingWithholdsNothing) {
  join();
  make_ready(kOne);
  boot({Generation(4), StartId(44)});
  give(SupervisorSilent{kOne});
  give(SupervisorsScanned{});
  give(LeaderChanged{kLeader, Term(1)});
  sync();
  EXPECT_EQ(stored_state_of(kOne), GrantState::kAborted);
  ASSERT_FALSE(sent<Hello>().empty());
  EXPECT_TRUE(sent<Hello>().back().stuck.empty());
}

TEST_F(GangAgentTest, AnOrphanThatDoesNotDieCostsGpusNotTheHost) {
  give(SupervisorSilent{kOne});
  give(SupervisorsScanned{});
  give(LeaderChanged{kLeader, Term(1)});
  EXPECT_TRUE(sent<Hello>().empty()) << "orphans go first";
  pass(6s);
  ASSERT_FALSE(sent<Hello>().empty());
  EXPECT_EQ(sent<Hello>().back().stuck, (std::vector<std::string>{"a", "b"}));
  answer_hello({});
  clear();
  say(assign(kTwo));  // Decided before the hello was applied.
  sync();
  ASSERT_EQ(sent<Refuse>().size(), 1U);
  EXPECT_EQ(sent<Refuse>()[0].reason, "gpu withheld");
  clear();
  give(SupervisorGone{kOne, std::nullopt});
  ASSERT_FALSE(sent<Hello>().empty());
  EXPECT_TRUE(sent<Hello>().back().stuck.empty());
}

}  // namespace
}  // namespace muster::agent
