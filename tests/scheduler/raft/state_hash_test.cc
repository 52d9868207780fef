// Goal: a voter whose state differs from that of a majority is found, told and silent from then on;
// no other voter is. Method: first the comparison alone, a table a sentence; then one voter of
// three, or of five, whose peers the test plays.

#include "scheduler/raft/state_hash.h"
#include "scheduler/raft/raft.h"
#include "tests/scheduler/raft/one_voter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <list>

namespace muster::scheduler {
namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t kRight = 7;
constexpr std::uint64_t kWrong = 8;

StateHash hash(std::uint64_t index, std::uint64_t value, std::uint64_t form = 1) {
  return {form, LogIndex(index), value};
}

class Comparison : public testing::Test {
 protected:
  void member(std::uint8_t number, const std::vector<StateHash>& said, bool is_voter = true) {
    StateHashes& kept = hashes_.emplace_back();
    for (const StateHash& each : said) {
      kept.add(each);
    }
    members_.push_back({host(number), is_voter, &kept});
  }
  std::vector<HostId> diverged() const {
    std::vector<HostId> hosts;
    for (const auto& each : compare_hashes(members_, 1).diverged) {
      hosts.push_back(each.host);
    }
    return hosts;
  }
  std::optional<LogIndex> split() const { return compare_hashes(members_, 1).split; }

  std::list<StateHashes> hashes_;
  std::vector<HashedMember> members_;
};

TEST_F(Comparison, TheOneAgainstAMajorityDiverged) {
  member(1, {hash(10, kRight)});
  member(2, {hash(10, kWrong)});
  EXPECT_TRUE(diverged().empty()) << "the third voter decides";
  member(3, {hash(10, kRight)});
  EXPECT_EQ(diverged(), std::vector<HostId>{host(2)});
  EXPECT_FALSE(split().has_value());
}

TEST_F(Comparison, OfTwoVotersNobodyIsRight) {
  member(1, {hash(10, kRight)});
  member(2, {hash(10, kWrong)});
  EXPECT_TRUE(diverged().empty());
  EXPECT_EQ(split(), LogIndex(10));
}

TEST_F(Comparison, ASilentThirdIsWaitedForAWhile) {
  member(1, {hash(10, kRight)});
  member(2, {hash(10, kWrong)});
  member(3, {});
  EXPECT_FALSE(split().has_value());
  for (std::uint64_t newer = 1; newer <= 4; ++newer) {
    EXPECT_FALSE(split().has_value());
    hashes_.front().add(hash(10 + newer, kRight));
  }
  EXPECT_EQ(split(), LogIndex(10));
}

TEST_F(Comparison, ALearnerIsComparedAndCountsForNothing) {
  member(1, {hash(10, kRight)});
  member(2, {hash(10, kRight)});
  member(3, {});
  member(4, {hash(10, kWrong)}, false);
  member(5, {hash(10, kWrong)}, false);
  EXPECT_EQ(diverged(), (std::vector<HostId>{host(4), host(5)}));
}

TEST_F(Comparison, HashesOfAnotherFormAreNoHashes) {
  member(1, {hash(10, kRight)});
  member(2, {hash(10, kWrong, 2)});
  member(3, {hash(10, kWrong, 2)});
  EXPECT_TRUE(diverged().empty());
  EXPECT_FALSE(split().has_value());
}

TEST_F(Comparison, TheNewestDecidedIndexCounts) {
  member(1, {hash(10, kRight), hash(20, kRight)});
  member(2, {hash(10, kWrong), hash(20, kRight)});
  member(3, {hash(10, kRight)});
  EXPECT_TRUE(diverged().empty()) << "it is again what it should be";
}

TEST_F(Comparison, WhoAppliesItsLogAgainMayTakeBackWhatItSaid) {
  member(1, {hash(10, kRight), hash(20, kRight)});
  member(2, {hash(10, kRight), hash(20, kWrong), hash(10, kRight), hash(20, kRight)});
  member(3, {hash(10, kRight), hash(20, kRight)});
  EXPECT_TRUE(diverged().empty());
}

/// Host 1 is the machine under test; the test plays the others.
class Member : public OneVoter {
 protected:
  /// Elected by the next voters, the own-term entry committed.
  void lead(std::uint8_t voters) {
    std::vector<HostId> all;
    for (std::uint8_t number = 1; number <= voters; ++number) {
      all.push_back(host(number));
    }
    start(all);
    be_elected(voters / 2 + 1);
    sync();
    for (std::uint8_t number = 2; number <= voters; ++number) {
      answer(number, {});
    }
    ASSERT_EQ(raft->commit(), LogIndex(1));
  }
  void answer(std::uint8_t from, const StateHash& state) {
    hear(from, AppendReply{Term(1), ++request_, round_, true, LogIndex(1), {}, {}, 1, {}, state});
  }
  /// The agreed hash in the next heartbeat to that host.
  StateHash told(std::uint8_t to) {
    wait(milliseconds(330));
    const std::vector<HostId> told = sent_to<AppendRequest>();
    const std::vector<AppendRequest> beats = sent<AppendRequest>();
    for (std::size_t i = 0; i < beats.size(); ++i) {
      round_ = beats[i].round;
      if (told[i] == host(to)) {
        return beats[i].agreed;
      }
    }
    ADD_FAILURE() << "no heartbeat to " << int{to};
    return {};
  }

  std::uint64_t request_ = 0;
  std::uint64_t round_ = 1;  ///< That is answered.
};

TEST_F(Member, SaysItsNewestHashWithEachAcknowledgement) {
  start({host(1), host(2), host(3)});
  step(Raft::Hashed{hash(10, kRight)});
  hear(2, AppendRequest{Term(1), 1, 1, {}, {}, {}});
  sync();
  ASSERT_EQ(sent<AppendReply>().size(), 1U);
  EXPECT_EQ(sent<AppendReply>().front().state, hash(10, kRight));
}

TEST_F(Member, ThatIsToldOtherwiseFallsSilent) {
  start({host(1), host(2), host(3)});
  step(Raft::Hashed{hash(10, kWrong)});
  hear(2, AppendRequest{Term(1), 1, 1, {}, {}, {}, {}, hash(10, kRight)});
  ASSERT_TRUE(out.gives_seat_up.has_value());
  EXPECT_NE(out.gives_seat_up->find("entry 10 "), std::string::npos) << *out.gives_seat_up;
  EXPECT_TRUE(event("state_diverged"));
  sync();
  hear(2, AppendRequest{Term(1), 2, 1, {}, {}, {}});
  hear(3, VoteRequest{Term(2), false, {}, 1});
  wait(std::chrono::seconds(10));
  EXPECT_TRUE(out.messages.empty()) << "it neither acknowledges nor votes";
  EXPECT_EQ(raft->next_deadline(), kNever);
}

TEST_F(Member, BelievesOnlyWhatContradictsWhatItKnows) {
  start({host(1), host(2), host(3)});
  step(Raft::Hashed{hash(10, kRight)});
  for (const StateHash& said : {hash(10, kRight), hash(20, kWrong), hash(10, kWrong, 2)}) {
    hear(2, AppendRequest{Term(1), ++request_, 1, {}, {}, {}, {}, said});
    EXPECT_FALSE(out.gives_seat_up.has_value());
  }
  hear(2, AppendRequest{Term(3), ++request_, 1, {}, {}, {}});
  hear(3, AppendRequest{Term(2), ++request_, 1, {}, {}, {}, {}, hash(10, kWrong)});
  EXPECT_FALSE(out.gives_seat_up.has_value()) << "a leader of the past says nothing";
}

TEST_F(Member, ThatLeadsTellsTheOneThatDiffers) {
  lead(3);
  step(Raft::Hashed{hash(1, kRight)});
  answer(3, hash(1, kWrong));
  EXPECT_FALSE(event("member_differs"));
  answer(2, hash(1, kRight));
  EXPECT_TRUE(event("member_differs"));
  EXPECT_EQ(told(3), StateHash()) << "2 may have ended since it said its hash";
  answer(3, hash(1, kWrong));
  answer(2, hash(1, kRight));
  EXPECT_EQ(told(3), hash(1, kRight));
  answer(2, hash(1, kRight));
  EXPECT_EQ(told(2), StateHash());
  for (const MemberLag& each : raft->lag(now)) {
    EXPECT_EQ(each.differs_at, each.host == host(3) ? LogIndex(1) : LogIndex());
  }
}

TEST_F(Member, ThatLeadsSparesAVoteThatIsStillNeeded) {
  lead(3);
  step(Raft::Hashed{hash(1, kRight)});
  answer(2, hash(1, kRight));
  answer(3, hash(1, kWrong));
  for (int beats = 0; beats < 10; ++beats) {
    EXPECT_EQ(told(3), StateHash()) << "2 is not heard any more";
    answer(3, hash(1, kWrong));
  }
  EXPECT_EQ(raft->role(), Role::kLeader);
  step(Raft::Transfer{host(3)});
  EXPECT_FALSE(raft->is_handing_over()) << "to one whose state is wrong";
  answer(2, hash(1, kRight));
  EXPECT_EQ(told(3), hash(1, kRight));
}

TEST_F(Member, ThatLeadsAgainstAMajorityOffersItsPlaceAndFallsSilent) {
  lead(3);
  step(Raft::Hashed{hash(1, kWrong)});
  answer(2, hash(1, kRight));
  EXPECT_EQ(raft->role(), Role::kLeader);
  answer(3, hash(1, kRight));
  EXPECT_EQ(raft->role(), Role::kFollower);
  EXPECT_TRUE(out.gives_seat_up.has_value());
  EXPECT_EQ(sent<TimeoutNow>().size(), 1U);
  EXPECT_FALSE(raft->takes_proposals());
}

TEST_F(Member, ThatLeadsGivesItsPlaceToOneThatAgrees) {
  lead(5);
  step(Raft::Hashed{hash(1, kWrong)});
  answer(2, hash(1, kWrong + 1));
  answer(3, hash(1, kRight));
  answer(4, hash(1, kRight));
  answer(5, hash(1, kRight));
  ASSERT_EQ(sent_to<TimeoutNow>().size(), 1U);
  EXPECT_NE(sent_to<TimeoutNow>().front(), host(2));
}

TEST_F(Member, OfTwoRaisesAnAlarmAndGoesOn) {
  lead(2);
  step(Raft::Hashed{hash(1, kRight)});
  answer(2, hash(1, kWrong));
  EXPECT_TRUE(event("states_differ"));
  EXPECT_EQ(raft->role(), Role::kLeader);
  EXPECT_EQ(told(2), StateHash());
  answer(2, hash(1, kWrong));
  EXPECT_FALSE(event("states_differ")) << "once an index";
}

}  // namespace
}  // namespace muster::scheduler
