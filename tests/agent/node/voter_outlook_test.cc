// The words about a voter that does not answer.

#include "agent/node/voter_outlook.h"

#include <gtest/gtest.h>

namespace muster::agent {
namespace {

using namespace std::chrono_literals;  // NOLINT: literals only.

HostId host(char letter) {
  return HostId::from_bytes(std::string(HostId::kSizeBytes, letter));
}

/// Voters a, b and c, of which a leads; hosts that could vote are added.
class VoterOutlookTest : public ::testing::Test {
 protected:
  VoterOutlookTest() {
    view_.now = scheduler::founding({host('a'), host('b'), host('c')});
    for (const char letter : {'a', 'b', 'c', 'd', 'e'}) {
      crdt::Identity identity;
      identity.name = std::string(1, letter);
      names_.learn(host(letter), identity);
    }
    for (const scheduler::Seat& voter : view_.now.voters) {
      scheduler::ElectorateMember member;
      member.host = voter.host;
      member.is_voter = true;
      member.is_leader = voter.host == host('a');
      view_.members.push_back(member);
    }
  }
  void add_candidate(char letter) {
    view_.candidates.push_back({host(letter), "", std::nullopt, 0});
  }
  std::string of_c(Duration silent_for) const {
    return replacement_text(view_, host('c'), silent_for, names_);
  }

  scheduler::ElectorateView view_;
  crdt::AddressBook names_;
};

TEST_F(VoterOutlookTest, NamesWhoReplacesItAndWhen) {
  add_candidate('e');
  EXPECT_EQ(of_c(30s), "e replaces it in 5m");
  EXPECT_EQ(of_c(61s), "e replaces it in 4m");
  EXPECT_EQ(of_c(4min + 20s), "e replaces it in 40s");
  EXPECT_EQ(of_c(6min), "e replaces it now");
}

TEST_F(VoterOutlookTest, OneThatIsGoneForGoodIsReplacedAtOnce) {
  add_candidate('e');
  view_.members.back().has_left = true;
  EXPECT_EQ(of_c(1s), "e replaces it now");
}

TEST_F(VoterOutlookTest, SaysThatThereIsNobody) {
  EXPECT_EQ(of_c(30s), "no other host that may vote is here to replace it");
}

TEST_F(VoterOutlookTest, OneTooManyIsNotReplaced) {
  view_.now.target = 2;
  EXPECT_EQ(of_c(30s), "it stops voting in 5m");
}

TEST_F(VoterOutlookTest, NamesWhoIsOnItsWay) {
  view_.now = view_.now.with_learner({host('d'), SeatId(9)});
  EXPECT_EQ(of_c(30s), "d is about to replace it");
}

}  // namespace
}  // namespace muster::agent
