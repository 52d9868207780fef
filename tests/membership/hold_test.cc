// Goal: claims that arrive while a cut is suspected make a verdict if they last, and no verdict if
// their makers take them back. Method: one machine, to which the test plays forty other hosts.

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "membership/membership.h"
#include "membership/rings.h"

namespace muster::membership {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint8_t kPeers = 40;

HostId peer(std::uint8_t number) {
  std::array<std::uint8_t, HostId::kSizeBytes> bytes{};
  bytes[0] = number;
  bytes[1] = 1;
  return HostId(bytes);
}

/// Ten observers: the next ones in a circle of all but the own host.
std::vector<HostId> observers_of(std::uint8_t subject) {
  std::vector<HostId> observers;
  for (std::uint8_t next = 0; next < kObserversMax; ++next) {
    observers.push_back(peer(static_cast<std::uint8_t>(1 + (subject + next) % kPeers)));
  }
  return observers;
}

class HoldTest : public ::testing::Test {
 protected:
  HoldTest() {
    for (std::uint8_t number = 1; number <= kPeers; ++number) {
      machine_.step(
          now_,
          MemberChanged{peer(number), {Generation(1), StartId()}, "", observers_of(number), false});
    }
  }
  void pass(Duration duration) {
    const Instant until = now_ + duration;
    while (machine_.next_deadline() <= until) {
      now_ = std::max(now_, machine_.next_deadline());
      machine_.tick(now_);
      machine_.take_output();
    }
    now_ = until;
  }
  /// Seven of its ten observers claim that it is silent, or take that back.
  void claim(std::uint8_t subject, bool is_claimed = true) {
    const std::vector<HostId> observers = observers_of(subject);
    for (std::size_t i = 0; i < verdict_threshold(observers.size()); ++i) {
      std::vector<crdt::Claim>& claims = claims_[observers[i]];
      const crdt::Claim about{peer(subject), Generation(1), crdt::ClaimKind::kSilent};
      std::erase(claims, about);
      if (is_claimed) {
        claims.push_back(about);
      }
      machine_.step(now_, EvidenceChanged{observers[i], claims});
    }
  }
  MemberState state(std::uint8_t number) const { return machine_.member(peer(number))->state; }
  StormMode mode() const { return machine_.storm().mode; }
  /// A third of all falls silent.
  void lose_many() {
    for (std::uint8_t number = 1; number <= 14; ++number) {
      claim(number);
    }
    pass(seconds(4));
    ASSERT_EQ(mode(), StormMode::kPartitionSuspected);
  }

  Instant now_ = Instant() + seconds(100);
  Membership machine_{peer(0), {Generation(1), StartId()}, "", Rng(1), now_};
  std::map<HostId, std::vector<crdt::Claim>> claims_;
};

TEST_F(HoldTest, OutsideACutSevenOfTenAreAVerdictAtOnce) {
  pass(kStormHold);
  claim(25);
  EXPECT_EQ(state(25), MemberState::kUnreachable);
}

TEST_F(HoldTest, WhileACutIsSuspectedTheyMustLast) {
  pass(kStormHold);
  lose_many();
  for (std::uint8_t number = 1; number <= 14; ++number) {
    EXPECT_EQ(state(number), MemberState::kUnreachable) << int{number};
  }
  claim(25);
  claim(30);
  EXPECT_EQ(state(25), MemberState::kSuspect);
  pass(kStormHold - milliseconds(100));
  EXPECT_EQ(state(30), MemberState::kSuspect);
  claim(25, false);
  EXPECT_EQ(state(25), MemberState::kAlive);
  pass(milliseconds(100));
  EXPECT_EQ(state(30), MemberState::kUnreachable);
  claim(25);
  EXPECT_EQ(state(25), MemberState::kSuspect) << "counted from here";
  pass(kStormHold);
  EXPECT_EQ(state(25), MemberState::kUnreachable);
}

TEST_F(HoldTest, SoItIsForAHostThatHasJustStarted) {
  claim(25);
  EXPECT_EQ(state(25), MemberState::kSuspect);
  pass(kStormHold);
  EXPECT_EQ(state(25), MemberState::kUnreachable);
}

TEST_F(HoldTest, WhereGangsAreStoppedForDeadHostsNothingWaits) {
  pass(kStormHold);
  for (std::uint8_t number = 20; number <= 24; ++number) {
    claim(number);
    pass(milliseconds(20));
  }
  ASSERT_EQ(mode(), StormMode::kPartial);
  claim(25);
  EXPECT_EQ(state(25), MemberState::kUnreachable);
}

}  // namespace
}  // namespace muster::membership
