// A host whose GPUs can be looked at withholds each of them until it was seen clean: at the start,
// and after ranks.

#include "tests/agent/gang/gang_agent_desk.h"

namespace muster::agent {
namespace {

using namespace std::chrono_literals;  // NOLINT: literals only.
using namespace testing;               // NOLINT: the fixture's verbs

class WatchedGpus : public GangAgentTest {
 protected:
  WatchedGpus() { boot_watched(kStart); }

  void boot_watched(AgentStart start) {
    boot(start);
    give(InventoryChanged{watched({"a", "b"})});
    clear();
  }
  static Inventory watched(std::vector<std::string> gpus) {
    Inventory inventory{"H100", std::move(gpus), 4, 1024};
    inventory.are_watched = true;
    return inventory;
  }
  /// Registered, and both GPUs seen clean.
  void join_clean() {
    join();
    see_clean("a");
    see_clean("b");
    answer_hello({});
    clear();
  }
  void see_clean(const std::string& uuid) { give(GpusCleaned{{uuid}}); }
  /// The ranks end, and the end is durable.
  void end_ranks(Token token) {
    give(AllRanksEnded{token, ended(0)});
    sync();
  }
};

using Uuids = std::vector<std::string>;

TEST_F(WatchedGpus, AreWithheldFromTheStartUntilSeenClean) {
  give(SupervisorsScanned{});
  EXPECT_EQ(out_.to_clean, (std::vector<GpuToClean>{{"a", Token()}, {"b", Token()}}));
  join();
  EXPECT_EQ(told("gpu_withheld"), 0) << "a matter of course";
  see_clean("a");
  ASSERT_FALSE(sent<Hello>().empty());
  EXPECT_EQ(sent<Hello>().back().stuck, Uuids{"b"});
  answer_hello({});
  clear();
  say(assign(kOne, {{"b", 0}}));
  ASSERT_EQ(sent<Refuse>().size(), 1U);
  EXPECT_EQ(sent<Refuse>()[0].reason, "gpu withheld");
  see_clean("b");
  EXPECT_TRUE(sent<Hello>().back().stuck.empty());
}

TEST_F(WatchedGpus, FinishTellsResultsAtOnceAndWithholdsTheGpu) {
  join_clean();
  make_running(kOne);
  clear();
  end_ranks(kOne);
  EXPECT_EQ(out_.to_clean, (std::vector<GpuToClean>{{"a", kOne}}));
  ASSERT_EQ(sent<Finish>().size(), 1U);
  EXPECT_EQ(sent<Finish>()[0].results, ended(0));
  EXPECT_EQ(sent<Finish>()[0].withheld, Uuids{"a"});
  EXPECT_TRUE(sent<Hello>().empty()) << "the Finish says it";
  say(FinishAck{kOne}, nonce_of_last<Finish>());
  EXPECT_TRUE(sent<Hello>().empty());
  see_clean("a");
  ASSERT_EQ(sent<Hello>().size(), 1U);
  EXPECT_TRUE(sent<Hello>()[0].stuck.empty());
}

TEST_F(WatchedGpus, ACleanGpuIsToldOnlyBehindTheFinishThatWithheldIt) {
  join_clean();
  make_running(kOne);
  clear();
  end_ranks(kOne);
  see_clean("a");
  EXPECT_TRUE(sent<Hello>().empty()) << "it would be overtaken";
  pass(2s);
  ASSERT_GE(sent<Finish>().size(), 2U);
  EXPECT_TRUE(sent<Finish>().back().withheld.empty());
  say(FinishAck{kOne}, nonce_of_last<Finish>());
  ASSERT_EQ(sent<Hello>().size(), 1U);
  EXPECT_TRUE(sent<Hello>()[0].stuck.empty());
}

TEST_F(WatchedGpus, ANewerGrantWaitsForTheLookBehindTheRanksThatItRevoked) {
  join_clean();
  make_running(kOne);
  make_ready(kTwo);
  clear();
  end_ranks(kOne);
  EXPECT_TRUE(sent<Ready>().empty());
  see_clean("a");
  ASSERT_EQ(sent<Ready>().size(), 1U);
  EXPECT_EQ(sent<Ready>()[0].token, kTwo);
}

TEST_F(WatchedGpus, OneThatLeftTheMachineIsNotLookedAt) {
  join_clean();
  make_running(kOne);
  give(InventoryChanged{watched({"b"})});
  clear();
  end_ranks(kOne);
  EXPECT_TRUE(out_.to_clean.empty());
  give(InventoryChanged{watched({"a", "b"})});
  EXPECT_EQ(out_.to_clean, (std::vector<GpuToClean>{{"a", kOne}}));
}

TEST_F(WatchedGpus, OneThatIsNotWellTakesNoGrant) {
  join_clean();
  give(UnwellGpusChanged{{"a"}});
  say(assign(kOne));
  ASSERT_EQ(sent<Refuse>().size(), 1U);
  EXPECT_EQ(sent<Refuse>()[0].reason, "gpu not healthy");
  give(UnwellGpusChanged{});
  say(assign(kTwo));
  sync();
  EXPECT_EQ(state_of(kTwo), GrantState::kReady);
}

TEST_F(WatchedGpus, AHelloUnderWayIsSentAgainWithTheGpuThatRanksJustLeft) {
  join_clean();
  make_running(kOne);
  give(InventoryChanged{watched({"a", "b", "c"})});
  ASSERT_FALSE(sent<Hello>().empty());
  const Nonce before = nonce_of_last<Hello>();
  clear();
  end_ranks(kOne);
  ASSERT_FALSE(sent<Hello>().empty());
  EXPECT_EQ(sent<Hello>().back().stuck, (Uuids{"a", "c"}));
  HelloReply stale;
  stale.start_id = start_.start_id;
  stale.registered = true;
  say(stale, before);
  EXPECT_NE(agent_->next_deadline(), kNever);
  clear();
  pass(1s);
  EXPECT_FALSE(sent<Hello>().empty()) << "the stale reply registers nothing";
}

TEST_F(WatchedGpus, ALeakOutlastsARestartAndItsFinish) {
  join_clean();
  make_running(kOne);
  end_ranks(kOne);
  boot_watched({Generation(4), StartId(44)});
  join();
  ASSERT_FALSE(agent_->grants().empty());
  pass(5s);
  ASSERT_FALSE(sent<Finish>().empty());
  EXPECT_EQ(sent<Finish>().back().withheld, Uuids{"a"});
}

TEST_F(WatchedGpus, GpusUnderRanksAreNotLookedAt) {
  join_clean();
  make_running(kOne);
  boot_watched({Generation(4), StartId(44)});
  give(SupervisorAdopted{kOne, true, now_ + kHold, {}});
  give(SupervisorsScanned{});
  EXPECT_EQ(out_.to_clean, (std::vector<GpuToClean>{{"b", Token()}}));
}

TEST_F(WatchedGpus, SimulatedOnesAreFreeAtOnce) {
  boot({Generation(5), StartId(55)});
  join();
  make_running(kOne);
  clear();
  end_ranks(kOne);
  EXPECT_TRUE(out_.to_clean.empty());
  ASSERT_EQ(sent<Finish>().size(), 1U);
  EXPECT_TRUE(sent<Finish>()[0].withheld.empty());
}

}  // namespace
}  // namespace muster::agent
