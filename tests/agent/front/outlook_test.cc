// What people are told of a job whose hosts do not answer. The words are free; the facts are not.

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

class OutlookTest : public testing::Test {
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
    job_.spec.patience = 7s;
  }
  void is_gone(char letter, Duration since, crdt::ClaimKind kind = crdt::ClaimKind::kSilent) {
    membership::Member& member = members_[host(letter)];
    member.state = MemberState::kUnreachable;
    member.kind = kind;
    member.since = now_ - since;
  }
  std::string told() const {
    return outlook(
        job_, attempt_, addresses_, [this](HostId id) { return &members_.at(id); }, now_);
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

TEST_F(OutlookTest, ASilentHostIsNamedWithThePatienceAndWhatFreesItsGpus) {
  is_gone('c', 12s);
  EXPECT_TRUE(tells("host c has been silent for 12 s")) << told();
  EXPECT_TRUE(tells("after 7 s")) << told();
  EXPECT_TRUE(tells("queued again")) << told();
  EXPECT_TRUE(tells("condemned, and 40 s later")) << told();
}

TEST_F(OutlookTest, AnAgentDownHasItsOwnPatience) {
  is_gone('c', 3s, crdt::ClaimKind::kRefused);
  EXPECT_TRUE(tells("the agent of host c has been down for 3 s")) << told();
  EXPECT_TRUE(tells("after 60 s")) << told();
}

TEST_F(OutlookTest, NoReachableRankIsLeftAlone) {
  is_gone('b', 5s);
  is_gone('c', 5s);
  EXPECT_TRUE(tells("left alone")) << told();
  EXPECT_FALSE(tells("queued again")) << told();
}

TEST_F(OutlookTest, TheChoicesOfTheJobAreRespected) {
  is_gone('c', 5s);
  job_.spec.on_lost_host = scheduler::OnLostHost::kWait;
  EXPECT_TRUE(tells("waits for it")) << told();
  attempt_.keep = true;
  EXPECT_TRUE(tells("never freed by silence")) << told();
  EXPECT_FALSE(tells("condemned")) << told();
}

TEST_F(OutlookTest, WhatIsCondemnedSaysSo) {
  is_gone('c', 50s);
  attempt_.state = AttemptState::kStopping;
  attempt_.members[1].condemned = LogIndex(9);
  EXPECT_TRUE(tells("is condemned")) << told();
  EXPECT_TRUE(tells("pardons")) << told();
}

}  // namespace
}  // namespace muster::agent
