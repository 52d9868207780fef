// What a host does not offer: GPUs under ranks that do not die, and holds that it could not keep.

#include "tests/agent/gang_agent_desk.h"

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

}  // namespace
}  // namespace muster::agent
