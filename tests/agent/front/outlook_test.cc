// The text about a job whose hosts do not answer. The words are free; the facts are not.

#include "agent/front/outlook.h"

#include <gtest/gtest.h>

#include <map>

namespace muster::agent {
namespace {

using namespace std::chrono_literals;  // NOLINT: literals only.
using membership::MemberState;
using scheduler::AttemptState;

HostId host(char letter) {
  return HostId::from_bytes(std::string(16, letter));
}

class OutlookTest : public ::testing::Test {
 protected:
  OutlookTest() {
    for (const char letter : {'b', 'c'}) {
      crdt::Identity identity;
      identity.name = std::string(1, letter);
      addresses_.learn(host(letter), identity);
      members_[host(letter)].host = host(letter);
      scheduler::MemberRecord record;
      record.member.host = host(letter);
      attempt_.members.push_back(record);
    }
    attempt_.state = AttemptState::kStarted;
    attempt_.hold = 30s;
    attempt_.grace = 5s;
    job_.spec.limits.patience = 7s;
  }
  void is_gone(char letter, Duration since, crdt::ClaimKind kind = crdt::ClaimKind::kSilent) {
    membership::Member& member = members_[host(letter)];
    member.state = MemberState::kUnreachable;
    member.kind = kind;
    member.since = now_ - since;
  }
  std::string told() const {
    return outlook(job_, attempt_,
                   {addresses_, [this](HostId id) { return &members_.at(id); }, now_});
  }
  bool tells(const std::string& words) const { return told().find(words) != std::string::npos; }

  Instant now_{1000s};
  crdt::AddressBook addresses_;
  std::map<HostId, membership::Member> members_;
  scheduler::Job job_;
  scheduler::Attempt attempt_;
};

TEST_F(OutlookTest, NothingWhenAllAnswerOrAllIsOver) {
  EXPECT_EQ(told(), "");
  is_gone('c', 12s);
  attempt_.members[1].end = scheduler::MemberEnd::kFinished;
  EXPECT_EQ(told(), "");
  attempt_.members[1].end = scheduler::MemberEnd::kNone;
  EXPECT_NE(told(), "");
  attempt_.state = AttemptState::kEnded;
  EXPECT_EQ(told(), "");
}

TEST_F(OutlookTest, AFailureThatIsNotClassedYetIsWaitedFor) {
  attempt_.state = AttemptState::kEnded;
  attempt_.failed_at = 1s;
  job_.life.state = scheduler::JobState::kStopping;
  EXPECT_TRUE(tells("whether a lost host caused it")) << told();
  job_.life.state = scheduler::JobState::kFailed;
  EXPECT_EQ(told(), "");
}

TEST_F(OutlookTest, AHostThatLeftIsNotExpectedBack) {
  is_gone('c', 2s);
  members_[host('c')].state = MemberState::kLeft;
  EXPECT_TRUE(tells("host c left the cluster 2 s ago")) << told();
  EXPECT_FALSE(tells("unless")) << told();
  is_gone('b', 2s);
  EXPECT_TRUE(tells("unless host b comes back first")) << told();
}

TEST_F(OutlookTest, ASilentHostIsNamedAndWhenItsJobGoesElsewhere) {
  is_gone('c', 2s);
  EXPECT_TRUE(tells("host c has been silent for 2 s")) << told();
  // The rest of the patience, and the grace of the ranks on b.
  EXPECT_TRUE(tells("requeued elsewhere in about 10s, unless host c comes back first")) << told();
}

TEST_F(OutlookTest, AnAgentDownHasItsOwnPatience) {
  is_gone('c', 3s, crdt::ClaimKind::kRefused);
  EXPECT_TRUE(tells("the agent of host c has been down for 3 s")) << told();
  EXPECT_TRUE(tells("in about 1m2s")) << told();
}

TEST_F(OutlookTest, WithoutAReachableRankTheHoldMustRunOut) {
  is_gone('b', 5s);
  is_gone('c', 5s, crdt::ClaimKind::kRefused);
  // 10 s until it is condemned less 5, hold 30, grace 5, margin 5.
  EXPECT_TRUE(tells("in about 45s, unless hosts b, c come back first")) << told();
  is_gone('b', 300s);
  EXPECT_TRUE(tells("requeued elsewhere at any moment")) << told();
}

TEST_F(OutlookTest, TheChoicesOfTheJobAreRespected) {
  is_gone('c', 5s);
  job_.spec.retry.on_lost_host = scheduler::OnLostHost::kWait;
  EXPECT_TRUE(tells("it waits for host c")) << told();
  job_.spec.retry.on_lost_host = scheduler::OnLostHost::kRequeue;
  attempt_.keep = true;
  EXPECT_TRUE(tells("requeued elsewhere")) << told();
  is_gone('b', 5s);
  EXPECT_TRUE(tells("never frees")) << told();
  EXPECT_FALSE(tells("requeued")) << told();
}

TEST_F(OutlookTest, WhatStopsWaitsForTheSilentHost) {
  is_gone('c', 5s);
  attempt_.state = AttemptState::kStopping;
  EXPECT_TRUE(tells("in about 45s, unless host c comes back")) << told();
}

}  // namespace
}  // namespace muster::agent
