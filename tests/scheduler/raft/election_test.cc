// Goal: counting majorities, and when a voter campaigns or refuses. Method: small tables.

#include "scheduler/raft/election.h"
#include "tests/scheduler/raft/host.h"

#include <gtest/gtest.h>

namespace muster::scheduler {
namespace {

using std::chrono::milliseconds;

constexpr Instant kStart = Instant{} + std::chrono::seconds(100);

TEST(Quorum, MajorityReached) {
  EXPECT_EQ(majority_reached({7}), 7U);
  EXPECT_EQ(majority_reached({7, 3}), 3U);
  EXPECT_EQ(majority_reached({1, 9, 5}), 5U);
  EXPECT_EQ(majority_reached({9, 9, 1, 1}), 1U);
  EXPECT_EQ(majority_reached({4, 0, 3, 9, 1}), 3U);
}

TEST(Quorum, TallyIsDecidedAsSoonAsItCanBe) {
  VoteTally tally(3);
  EXPECT_EQ(tally.outcome(), VoteOutcome::kPending);
  tally.record(host(1), true);
  tally.record(host(1), true);
  EXPECT_EQ(tally.outcome(), VoteOutcome::kPending) << "a voter counts once";
  tally.record(host(2), false);
  EXPECT_EQ(tally.outcome(), VoteOutcome::kPending);
  tally.record(host(3), true);
  EXPECT_EQ(tally.outcome(), VoteOutcome::kWon);
  VoteTally lost(3);
  lost.record(host(1), false);
  lost.record(host(2), false);
  EXPECT_EQ(lost.outcome(), VoteOutcome::kLost);
}

class ElectionTest : public testing::Test {
 protected:
  RaftConfig config;
  std::vector<HostId> voters = {host(1), host(2), host(3)};
  Election election{config, host(2), voters, Rng(1), kStart};
};

TEST_F(ElectionTest, TimeoutIsRandomWithinBounds) {
  for (int round = 0; round < 1000; ++round) {
    election.on_leader_heard(kStart);
    EXPECT_GE(election.deadline(), kStart + config.election_timeout_min);
    EXPECT_LE(election.deadline(), kStart + config.election_timeout_max);
  }
}

TEST_F(ElectionTest, ALeaderIsFreshForTheSmallestTimeout) {
  election.on_leader_heard(kStart);
  EXPECT_TRUE(election.leader_is_fresh(kStart + milliseconds(999)));
  EXPECT_FALSE(election.leader_is_fresh(kStart + milliseconds(1000)));
}

TEST_F(ElectionTest, AResetLinkStartsVotersOneAfterTheOther) {
  election.on_leader_heard(kStart);
  election.on_leader_link_reset(kStart);
  EXPECT_FALSE(election.leader_is_fresh(kStart));
  EXPECT_EQ(election.deadline(), kStart + config.link_reset_stagger);
  election.begin(kStart);
  EXPECT_LE(election.deadline(), kStart + milliseconds(300)) << "tried again soon";
}

TEST_F(ElectionTest, TheFirstVoteAfterALeaderIsTriedAgainSoon) {
  election.on_leader_heard(kStart);
  election.begin(kStart);
  EXPECT_GE(election.deadline(), kStart + config.election_timeout_min) << "a pre-vote waits";
  election.begin_vote(kStart);
  EXPECT_GE(election.deadline(), kStart + config.vote_retry_min);
  EXPECT_LE(election.deadline(), kStart + config.vote_retry_max);
  election.begin_vote(kStart);
  EXPECT_GE(election.deadline(), kStart + config.election_timeout_min) << "disks may be slow";
  election.on_leader_heard(kStart);
  election.begin_vote(kStart);
  EXPECT_LE(election.deadline(), kStart + config.vote_retry_max);
}

TEST_F(ElectionTest, AnswersToAnOlderVoteAreIgnored) {
  const std::uint64_t first = election.begin(kStart);
  const std::uint64_t second = election.begin(kStart);
  election.record(host(1), first, true);
  EXPECT_EQ(election.record(host(2), second, true), VoteOutcome::kPending);
  EXPECT_EQ(election.record(host(3), second, true), VoteOutcome::kWon);
}

TEST_F(ElectionTest, ASingleVoterCampaignsAtOnce) {
  const Election alone(config, host(2), {host(2)}, Rng(1), kStart);
  EXPECT_EQ(alone.deadline(), kStart);
}

}  // namespace
}  // namespace muster::scheduler
