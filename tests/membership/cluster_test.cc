// Small clusters in virtual time: how fast a loss is known, and which hosts must not be accused.

#include <gtest/gtest.h>

#include "tests/membership/virtual_cluster.h"

namespace muster::membership {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class Cluster : public ::testing::Test {
 protected:
  void start(std::size_t hosts, std::uint64_t seed = 1, std::size_t absent = 0) {
    cluster_ = std::make_unique<VirtualCluster>(hosts, seed, absent);
    ASSERT_TRUE(cluster_->settle(seconds(20))) << cluster_->story();
    cluster_->run_for(seconds(10));
    from_ = cluster_->now();
  }
  void expect_no_verdict() {
    EXPECT_EQ(cluster_->count("unreachable", from_), 0U) << cluster_->story();
  }

  std::unique_ptr<VirtualCluster> cluster_;
  Instant from_;
};

void report(const char* what, std::optional<Duration> first, std::optional<Duration> all) {
  std::printf("%s first=%lld all=%lld ms\n", what,
              static_cast<long long>(first ? to_ms(*first) : -1),
              static_cast<long long>(all ? to_ms(*all) : -1));
}

TEST_F(Cluster, ASilentHostOfFiveIsKnownToAllInTime) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    start(5, seed);
    cluster_->run_for(milliseconds(137 * static_cast<std::int64_t>(seed)));
    from_ = cluster_->now();
    cluster_->power_off(3);
    cluster_->run_for(seconds(6));
    const auto first = cluster_->first("unreachable", 3, from_);
    const auto all = cluster_->all("unreachable", 3, from_);
    report("silent n=5", first, all);
    ASSERT_TRUE(first.has_value() && all.has_value()) << cluster_->story();
    EXPECT_LE(*first, milliseconds(2600));
    EXPECT_LE(*all, milliseconds(4500));
    EXPECT_EQ(cluster_->count("unreachable", from_), 4U);
  }
}

TEST_F(Cluster, ASilentHostOfThirtyIsKnownToAllInTime) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    start(30, seed);
    cluster_->power_off(17);
    cluster_->run_for(seconds(6));
    const auto first = cluster_->first("unreachable", 17, from_);
    const auto all = cluster_->all("unreachable", 17, from_);
    report("silent n=30", first, all);
    ASSERT_TRUE(first.has_value() && all.has_value()) << cluster_->story();
    EXPECT_LE(*all, milliseconds(4500));
    EXPECT_EQ(cluster_->count("unreachable", from_), 29U) << cluster_->story();
  }
}

TEST_F(Cluster, AKilledAgentIsDownWithinASecond) {
  for (const std::size_t hosts : {2U, 3U, 5U, 12U, 30U}) {
    start(hosts);
    cluster_->kill_agent(1);
    cluster_->run_for(seconds(3));
    const auto first = cluster_->first("unreachable", 1, from_);
    const auto all = cluster_->all("unreachable", 1, from_);
    report("killed", first, all);
    ASSERT_TRUE(first.has_value() && all.has_value()) << hosts << cluster_->story();
    EXPECT_LE(*first, milliseconds(500));
    EXPECT_LE(*all, seconds(1));
    EXPECT_EQ(cluster_->membership(0).member(cluster_->id(1))->kind, crdt::ClaimKind::kRefused);
  }
}

TEST_F(Cluster, TenQuietMinutesAccuseNobody) {
  for (const std::size_t hosts : {5U, 30U}) {
    start(hosts);
    cluster_->run_for(seconds(600));
    EXPECT_EQ(cluster_->count("claim", from_), 0U) << cluster_->story();
    EXPECT_EQ(cluster_->count("possibly_cut_off", from_), 0U) << cluster_->story();
    expect_no_verdict();
  }
}

TEST_F(Cluster, AOneSecondFreezeHarmsNobody) {
  for (const std::size_t hosts : {3U, 5U, 30U}) {
    start(hosts);
    for (std::size_t host = 0; host < hosts; ++host) {
      cluster_->freeze(host);
      cluster_->run_for(seconds(1));
      cluster_->thaw(host);
      cluster_->run_for(milliseconds(3300));
    }
    expect_no_verdict();
    EXPECT_TRUE(cluster_->all_alive());
  }
}

TEST_F(Cluster, ALongFreezeIsSeenByAllAndSpoilsNoOne) {
  start(5);
  cluster_->freeze(2);
  cluster_->run_for(seconds(8));
  EXPECT_TRUE(cluster_->all("unreachable", 2, from_).has_value()) << cluster_->story();
  cluster_->thaw(2);
  cluster_->run_for(seconds(5));
  EXPECT_TRUE(cluster_->all_alive()) << cluster_->story();
  EXPECT_EQ(cluster_->count("unreachable", from_), 4U) << cluster_->story();
}

TEST_F(Cluster, AMinorityMutesItselfAndAllAgreeAfterTheHeal) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    start(30, seed);
    const std::set<std::size_t> side{3, 8, 13, 18, 23};
    cluster_->cut(side);
    cluster_->run_for(seconds(12));
    for (const VirtualCluster::Said& line : cluster_->said()) {
      const bool is_accusation = line.at >= from_ && line.event.name == "unreachable";
      EXPECT_FALSE(is_accusation && side.contains(line.by)) << line.event.text();
    }
    EXPECT_EQ(cluster_->count("isolated", from_), 5U) << cluster_->story();
    EXPECT_EQ(cluster_->membership(0).storm().mode, StormMode::kPartitionSuspected);
    cluster_->heal();
    const Instant healed = cluster_->now();
    cluster_->run_for(seconds(6));
    EXPECT_TRUE(cluster_->all_alive()) << cluster_->story();
    // The minority at first hears the old claims about it; the others accuse no host again.
    for (const VirtualCluster::Said& line : cluster_->said()) {
      const bool is_accusation = line.at >= healed && line.event.name == "unreachable";
      EXPECT_FALSE(is_accusation && !side.contains(line.by)) << line.event.text();
    }
  }
}

TEST_F(Cluster, TwoOfFiveCutOffAreKnownAndHealWithinFiveSeconds) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    start(5, seed);
    cluster_->cut({0, 4});
    cluster_->run_for(seconds(20));
    EXPECT_EQ(cluster_->count("unreachable", from_), 6U) << cluster_->story();
    // On the smaller side no host gets a verdict, but each knows the hosts that it cannot reach.
    EXPECT_TRUE(cluster_->membership(0).is_claimed_by_self(cluster_->id(2)));
    EXPECT_FALSE(cluster_->membership(0).is_claimed_by_self(cluster_->id(4)));
    cluster_->heal();
    cluster_->run_for(seconds(5));
    EXPECT_TRUE(cluster_->all_alive()) << cluster_->story();
  }
}

TEST_F(Cluster, ALongCutHealsWithinFiveSeconds) {
  start(5);
  cluster_->cut({2});
  cluster_->run_for(seconds(120));
  cluster_->heal();
  cluster_->run_for(seconds(5));
  EXPECT_TRUE(cluster_->all_alive()) << cluster_->story();
  EXPECT_TRUE(cluster_->settle(seconds(5)));
}

TEST_F(Cluster, AGracefulLeaveRaisesNoClaim) {
  for (const std::size_t hosts : {2U, 5U, 30U}) {
    start(hosts);
    cluster_->leave(1);
    cluster_->run_for(seconds(10));
    EXPECT_EQ(cluster_->count("claim", from_), 0U) << cluster_->story();
    EXPECT_EQ(cluster_->state(0, 1), MemberState::kLeft);
  }
}

TEST_F(Cluster, ARestartWithAHigherGenerationClearsAtOnce) {
  start(5);
  cluster_->kill_agent(1);
  cluster_->run_for(seconds(3));
  const Instant restarted = cluster_->now();
  cluster_->restart(1);
  cluster_->run_for(milliseconds(1000));
  EXPECT_LE(*cluster_->all("alive_again", 1, restarted), milliseconds(300)) << cluster_->story();
  EXPECT_TRUE(cluster_->all_alive()) << cluster_->story();
  cluster_->run_for(seconds(10));
  EXPECT_EQ(cluster_->count("claim", restarted), 0U) << cluster_->story();
}

TEST_F(Cluster, AHostThatStopsRightAfterItsRestartIsNoticed) {
  start(5);
  cluster_->kill_agent(1);
  cluster_->run_for(seconds(3));
  const Instant restarted = cluster_->now();
  cluster_->restart(1);
  cluster_->run_for(milliseconds(300));
  ASSERT_TRUE(cluster_->all("alive_again", 1, restarted).has_value()) << cluster_->story();
  cluster_->power_off(1);  // It has not named its observers yet.
  cluster_->run_for(seconds(5));
  EXPECT_TRUE(cluster_->all("unreachable", 1, restarted).has_value()) << cluster_->story();
}

TEST_F(Cluster, AHostThatStopsInTheFirstMomentOfItsFirstLifeIsNoticed) {
  start(5, 1, 1);
  const Instant began = cluster_->now();
  cluster_->restart(4);
  cluster_->run_for(milliseconds(300));
  ASSERT_TRUE(cluster_->all("member_joined", 4, began).has_value()) << cluster_->story();
  cluster_->power_off(4);  // It has not named its observers yet.
  cluster_->run_for(seconds(6));
  EXPECT_TRUE(cluster_->all("unreachable", 4, began).has_value()) << cluster_->story();
}

TEST_F(Cluster, TenPercentLossOnAllLinksCondemnsNobody) {
  for (const std::size_t hosts : {2U, 5U, 30U}) {
    start(hosts);
    cluster_->lose(100'000);
    cluster_->run_for(seconds(120));
    expect_no_verdict();
  }
}

// The window claim: an observer that hears every third answer is not silenced by those vetoes.
TEST_F(Cluster, AHostThatLosesMostMessagesIsOutAndItsNeighboursAreNot) {
  for (const std::size_t hosts : {5U, 30U}) {
    start(hosts);
    cluster_->lose_at(2, 600'000);
    cluster_->run_for(seconds(120));
    std::printf("lossy n=%zu verdicts=%zu\n", hosts, cluster_->count("unreachable", from_));
    EXPECT_TRUE(cluster_->first("unreachable", 2, from_).has_value()) << cluster_->story();
    for (std::size_t host = 0; host < hosts; ++host) {
      if (host != 2) {
        EXPECT_FALSE(cluster_->first("unreachable", host, from_).has_value()) << host;
      }
    }
  }
}

// The losses that a small cluster can judge. If the survivors are no majority of the observers,
// they stay suspicious for ever, and rightly so.
TEST_F(Cluster, SmallClustersJudgeExactlyTheLossesTheyCanKnow) {
  struct Row {
    std::size_t hosts;
    std::size_t dead;
    bool is_verdict;
  };
  const Row rows[] = {{2, 1, true},  {3, 1, true}, {3, 2, false}, {4, 1, true},
                      {4, 2, false}, {5, 1, true}, {5, 2, true},  {5, 3, false},
                      {8, 1, true},  {8, 2, true}, {11, 2, true}, {12, 2, true}};
  for (const Row& row : rows) {
    start(row.hosts);
    for (std::size_t dead = 0; dead < row.dead; ++dead) {
      cluster_->power_off(row.hosts - 1 - dead);
    }
    cluster_->run_for(seconds(10));
    for (std::size_t dead = 0; dead < row.dead; ++dead) {
      const auto all = cluster_->all("unreachable", row.hosts - 1 - dead, from_);
      EXPECT_EQ(all.has_value(), row.is_verdict) << row.hosts << " hosts, " << row.dead << " dead";
      EXPECT_LE(all.value_or(Duration(0)), milliseconds(4500)) << row.hosts << " " << row.dead;
    }
    EXPECT_EQ(cluster_->count("unreachable", from_),
              row.is_verdict ? row.dead * (row.hosts - row.dead) : 0U);
  }
}

TEST_F(Cluster, AbsentObserversAreReplacedAndTakenBack) {
  start(5);
  cluster_->power_off(4);
  cluster_->run_for(seconds(40));
  EXPECT_EQ(cluster_->membership(0).observers().size(), 3U);
  cluster_->restart(4);
  cluster_->run_for(seconds(5));
  EXPECT_EQ(cluster_->membership(0).observers().size(), 4U);
  EXPECT_TRUE(cluster_->all_alive()) << cluster_->story();
}

TEST_F(Cluster, ACutOffHostNoticesThatNobodyProbesIt) {
  start(5);
  cluster_->cut({1});
  cluster_->run_for(seconds(8));
  EXPECT_TRUE(cluster_->first("possibly_cut_off", 1, from_).has_value());
  EXPECT_TRUE(cluster_->first("isolated", 1, from_).has_value());
}

TEST_F(Cluster, AHostThatSleptThroughTheEndOfItsIsolationKnowsThatItIsOver) {
  for (int time = 0; time < 20; ++time) {  // Asleep at any moment of its rounds.
    start(5);
    cluster_->cut({1});
    cluster_->run_for(seconds(8) + milliseconds(70) * time);
    EXPECT_EQ(cluster_->membership(1).storm().mode, StormMode::kPartitionSuspected);
    cluster_->freeze(1);
    cluster_->heal();
    cluster_->run_for(seconds(30));
    cluster_->thaw(1);
    cluster_->run_for(seconds(120));
    ASSERT_TRUE(cluster_->all_alive()) << cluster_->story();
    ASSERT_EQ(cluster_->membership(1).storm().mode, StormMode::kNormal) << "at " << time;
  }
}

TEST_F(Cluster, AHundredHostsFindEachOtherAndJudgeARack) {
  start(100);
  for (std::size_t host = 40; host < 45; ++host) {
    cluster_->power_off(host);
  }
  cluster_->run_for(seconds(6));
  for (std::size_t host = 40; host < 45; ++host) {
    EXPECT_TRUE(cluster_->all("unreachable", host, from_).has_value()) << host;
  }
  EXPECT_EQ(cluster_->count("unreachable", from_), 5U * 95U);
}

TEST_F(Cluster, TwoOfTwentyFourThatStopAreNoStorm) {
  start(24);
  cluster_->power_off(3);
  cluster_->run_for(milliseconds(300));
  cluster_->power_off(17);
  cluster_->run_for(seconds(6));
  EXPECT_EQ(cluster_->count("unreachable", from_), 2U * 22U);
  EXPECT_EQ(cluster_->count("storm_mode", from_), 0U) << cluster_->story();
}

/// Their kernels answer, so no host is silent; nor is a host that comes back and finds them so.
TEST_F(Cluster, TwoOfFourWhoseAgentsAreDownAreNoStorm) {
  start(4);
  cluster_->kill_agent(0);
  cluster_->kill_agent(1);
  cluster_->run_for(seconds(5));
  cluster_->kill_agent(2);
  cluster_->run_for(milliseconds(300));
  cluster_->restart(2);
  cluster_->run_for(seconds(40));
  for (const std::size_t host : {2U, 3U}) {
    EXPECT_EQ(cluster_->membership(host).storm().mode, StormMode::kNormal) << host;
  }
}

/// Cut in halves or in thirds: the leader is on one of the sides, and evicts no host.
TEST_F(Cluster, EveryHostOfACutFleetSuspectsTheCut) {
  for (const std::size_t hosts : {24U, 48U}) {
    for (const std::size_t far : {2U, 3U}) {
      start(hosts, far);
      std::set<std::size_t> side;
      for (std::size_t host = 0; host < hosts; host += far) {
        side.insert(host);
      }
      cluster_->cut(side);
      Instant worst = from_;
      for (std::size_t host = 0; host < hosts; ++host) {
        while (cluster_->membership(host).storm().mode != StormMode::kPartitionSuspected &&
               cluster_->now() - from_ < seconds(20)) {
          cluster_->run_for(milliseconds(10));
          worst = cluster_->now();
        }
      }
      std::printf("cut 1/%zu of %zu known to all after %lld ms\n", far, hosts,
                  static_cast<long long>(to_ms(worst - from_)));
      EXPECT_LE(worst - from_, seconds(6));
      cluster_->heal();
      cluster_->run_for(seconds(10));
      EXPECT_TRUE(cluster_->all_alive());
      cluster_->run_for(seconds(65));
      EXPECT_EQ(cluster_->membership(1).storm().mode, StormMode::kNormal);
    }
  }
}

// Its observers died first and kept their verdicts; with the whole list it would stay a suspect.
TEST_F(Cluster, AHostWhoseObserversAreGoneIsJudgedByThoseThatAreLeft) {
  start(100);
  const std::vector<HostId> observers = cluster_->membership(5).observers();
  ASSERT_EQ(observers.size(), 10U);
  std::set<std::size_t> gone;
  for (std::size_t host = 0; host < 100 && gone.size() < 4; ++host) {
    if (std::find(observers.begin(), observers.end(), cluster_->id(host)) != observers.end()) {
      gone.insert(host);
      cluster_->power_off(host);
    }
  }
  cluster_->run_for(milliseconds(31500));  // They are not new any more, and not replaced yet.
  from_ = cluster_->now();
  cluster_->power_off(5);
  cluster_->run_for(seconds(9));
  // A host that watches three of the dead suspects a cut, and judges with the whole list.
  EXPECT_GE(cluster_->count("unreachable", from_), 90U);
}

TEST_F(Cluster, WhoIsLostAgainAndAgainIsTrustedLaterEachTime) {
  start(5);
  Duration before{0};
  for (int time = 0; time < 4; ++time) {
    cluster_->cut({2});
    cluster_->run_for(seconds(10));
    cluster_->heal();
    const Instant healed = cluster_->now();
    cluster_->run_for(seconds(45));
    const auto trusted = cluster_->all("alive_again", 2, healed);
    ASSERT_TRUE(trusted.has_value()) << time;
    EXPECT_GT(*trusted, before + seconds(1)) << time;
    before = *trusted;
  }
  EXPECT_GT(before, seconds(20));
}

TEST_F(Cluster, TheSameSeedTellsTheSameStory) {
  std::string stories[2];
  for (std::string& story : stories) {
    start(5, 7);
    cluster_->power_off(2);
    cluster_->run_for(seconds(5));
    cluster_->kill_agent(3);
    cluster_->run_for(seconds(5));
    story = cluster_->story();
  }
  EXPECT_EQ(stories[0], stories[1]);
}

}  // namespace
}  // namespace muster::membership
