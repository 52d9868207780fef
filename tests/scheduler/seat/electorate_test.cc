// Goal: the leader's next step towards the wanted voters. Method: small tables, and whole walks in
// which every step is taken until no step is left.

#include "scheduler/seat/electorate.h"

#include <gtest/gtest.h>

#include <set>

namespace muster::scheduler {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

HostId host(std::uint8_t number) {
  std::array<std::uint8_t, HostId::kSizeBytes> bytes{};
  bytes[0] = number;
  return HostId(bytes);
}

/// A cluster as its leader, host 1, sees it.
class ElectorateTest : public testing::Test {
 protected:
  ElectorateTest() {
    view.now = founding({host(1), host(2), host(3)});
    refresh();
  }
  void refresh() {
    view.members.clear();
    const auto add = [this](const Seat& seat, bool is_voter) {
      ElectorateMember member;
      member.host = seat.host;
      member.rack = racks[seat.host];
      member.is_voter = is_voter;
      member.is_leader = seat.host == host(1);
      member.silent_for = silent[seat.host];
      member.stuck_for = stuck.contains(seat.host) && !is_voter ? minutes(6) : minutes(0);
      member.behind = stuck.contains(seat.host) ? 1000 : 0;
      if (lost.contains(seat.host) && lost[seat.host] != seat.id) {
        member.elsewhere_for = seconds(10);
      }
      view.members.push_back(member);
    };
    for (const Seat& seat : view.now.voters) {
      add(seat, true);
    }
    for (const Seat& seat : view.now.learners) {
      add(seat, false);
    }
    view.candidates.clear();
    for (const HostId spare : spares) {
      if (view.now.voter(spare) == nullptr && view.now.learner(spare) == nullptr &&
          silent[spare] == Duration::zero()) {
        view.candidates.push_back(
            {spare, racks[spare],
             seats.contains(spare) ? std::optional(seats[spare]) : std::nullopt, setbacks[spare]});
      }
    }
  }
  /// Takes steps until no step is left. Returns the hosts that vote then.
  std::vector<HostId> settle() {
    for (int steps = 0; steps < 20; ++steps) {
      refresh();
      const auto step = next_step({}, view);
      if (!step.has_value()) {
        return view.now.voter_hosts();
      }
      if (!step->failed.is_zero()) {
        ++setbacks[step->failed];
      }
      if (deaf.contains(step->invite)) {
        ++setbacks[step->invite];
        continue;
      }
      if (!step->invite.is_zero()) {
        seats[step->invite] = lost.contains(step->invite) ? lost[step->invite] : SeatId(9);
        continue;
      }
      EXPECT_EQ(why_not_next(view.now, *step->next), "") << step->why;
      fewest = std::min(fewest, step->next->voters.size());
      view.now = *step->next;
    }
    ADD_FAILURE() << "it never rests";
    return {};
  }

  ElectorateView view;
  std::map<HostId, std::string> racks;
  std::map<HostId, Duration> silent;
  std::map<HostId, SeatId> lost;  ///< Hosts on a new disk, and its seat.
  std::map<HostId, SeatId> seats;
  std::vector<HostId> spares;
  std::set<HostId> deaf;   ///< Never say their seat.
  std::set<HostId> stuck;  ///< Never catch up.
  std::map<HostId, std::uint32_t> setbacks;
  std::size_t fewest = 99;
};

TEST_F(ElectorateTest, NothingIsDoneWhileAllIsWell) {
  spares = {host(4), host(5)};
  EXPECT_EQ(settle(), (std::vector{host(1), host(2), host(3)}));
}

TEST_F(ElectorateTest, AVoterThatStaysAwayIsReplacedAddBeforeRemove) {
  spares = {host(4), host(5)};
  silent[host(2)] = minutes(4);
  EXPECT_EQ(settle(), (std::vector{host(1), host(2), host(3)})) << "it may be back soon";
  silent[host(2)] = minutes(5);
  EXPECT_EQ(settle(), (std::vector{host(1), host(3), host(4)}));
  EXPECT_EQ(fewest, 3U);
}

TEST_F(ElectorateTest, WithoutASpareAVoterThatIsAwayStays) {
  silent[host(2)] = minutes(60);
  EXPECT_EQ(settle(), (std::vector{host(1), host(2), host(3)}));
}

TEST_F(ElectorateTest, AVoterOnANewDiskGivesItsPlaceToASpare) {
  spares = {host(2), host(4)};
  lost[host(2)] = SeatId(77);
  EXPECT_EQ(settle(), (std::vector{host(1), host(3), host(4)}));
  EXPECT_EQ(fewest, 3U);
}

TEST_F(ElectorateTest, AloneAVoterOnANewDiskTakesItsOwnPlaceAgain) {
  spares = {host(2)};
  lost[host(2)] = SeatId(77);
  EXPECT_EQ(settle(), (std::vector{host(1), host(2), host(3)}));
  EXPECT_TRUE(view.now.has_voter({host(2), SeatId(77)}));
  EXPECT_EQ(fewest, 2U);
}

TEST_F(ElectorateTest, DistinctRacksAreFilledFirst) {
  racks = {{host(1), "r1"}, {host(3), "r3"}, {host(4), "r1"}, {host(5), "r3"}, {host(6), "r2"}};
  spares = {host(4), host(5), host(6)};
  silent[host(2)] = minutes(6);
  EXPECT_EQ(settle(), (std::vector{host(1), host(3), host(6)}));
}

TEST_F(ElectorateTest, MoreVotersAreFoundWhenMoreAreWanted) {
  spares = {host(4), host(5), host(6)};
  view.now.target = 5;
  EXPECT_EQ(settle(), (std::vector{host(1), host(2), host(3), host(4), host(5)}));
}

TEST_F(ElectorateTest, InAStormNothingNewBegins) {
  spares = {host(4)};
  silent[host(2)] = minutes(6);
  view.is_calm = false;
  EXPECT_EQ(settle(), (std::vector{host(1), host(2), host(3)}));
}

TEST_F(ElectorateTest, ALearnerThatIsGoneIsDropped) {
  view.now = view.now.with_learner({host(4), SeatId(9)});
  silent[host(4)] = minutes(6);
  EXPECT_EQ(settle(), (std::vector{host(1), host(2), host(3)}));
  EXPECT_TRUE(view.now.learners.empty());
}

TEST_F(ElectorateTest, ASpareThatDoesNotAnswerLeavesItsTurnToTheNext) {
  spares = {host(4), host(5)};
  deaf = {host(4)};
  silent[host(2)] = minutes(6);
  EXPECT_EQ(settle(), (std::vector{host(1), host(3), host(5)}));
}

TEST_F(ElectorateTest, ALearnerThatDoesNotCatchUpLeavesItsTurnToTheNext) {
  spares = {host(4), host(5)};
  stuck = {host(4)};
  silent[host(2)] = minutes(6);
  EXPECT_EQ(settle(), (std::vector{host(1), host(3), host(5)}));
  EXPECT_TRUE(view.now.learners.empty());
}

TEST_F(ElectorateTest, OfSevenOneIsReplacedRemoveBeforeAdd) {
  view.now = founding({host(1), host(2), host(3), host(4), host(5), host(6), host(7)});
  spares = {host(8)};
  silent[host(2)] = minutes(6);
  EXPECT_EQ(settle(), (std::vector{host(1), host(3), host(4), host(5), host(6), host(7), host(8)}));
  EXPECT_EQ(fewest, 6U);
}

TEST_F(ElectorateTest, AVoterThatReturnsWhileItIsReplacedLeavesNoneTooMany) {
  view.now = view.now.with_learner({host(4), SeatId(9)});
  EXPECT_EQ(settle(), (std::vector{host(1), host(2), host(3)}));
  EXPECT_TRUE(view.now.learners.empty());
  view.now = view.now.with_learner({host(4), SeatId(9)}).with_promoted(host(4));
  racks = {{host(1), "r1"}, {host(2), "r2"}, {host(3), "r2"}, {host(4), "r3"}};
  EXPECT_EQ(settle(), (std::vector{host(1), host(2), host(4)})) << "rack r2 has two";
}

TEST_F(ElectorateTest, TheLeaderNeverRemovesItself) {
  spares = {host(4)};
  silent[host(1)] = minutes(60);
  lost[host(1)] = SeatId(5);
  EXPECT_EQ(settle(), (std::vector{host(1), host(2), host(3)}));
}

}  // namespace
}  // namespace muster::scheduler
