// Membership alone: an Ack counts by the time of its arrival, and a host that is new to the fleet
// accuses no host by a guess at its observers.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>

#include "membership/membership.h"

namespace muster::membership {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

HostId member(std::uint8_t number) {
  std::array<std::uint8_t, HostId::kSizeBytes> bytes{};
  bytes[0] = number;
  return HostId(bytes);
}

class ArrivalTest : public ::testing::Test {
 protected:
  static constexpr std::uint8_t kHosts = 6;  ///< This one is number 0.

  ArrivalTest() : membership_(member(100), {Generation(1), StartId(1)}, "", Rng(1), now_) {}

  void meet(std::uint8_t host, bool has_named) {
    MemberChanged row{member(host), {Generation(1), StartId(host)}, "", {}};
    for (std::uint8_t other = 1; other < kHosts && has_named; ++other) {
      row.observers.push_back(member(other == host ? 100 : other));
    }
    std::sort(row.observers.begin(), row.observers.end());
    membership_.step(now_, row);
  }
  void ack(HostId from, Nonce nonce, Instant at) {
    membership_.step(now_, MessageReceived{from, Generation(1), nonce,
                                           Ack{milliseconds(2500), Sequence(1)}, at});
  }
  /// Until then; each host answers at once, but those that are late or silent.
  void run_for(Duration duration, const std::set<HostId>& silent = {}) {
    for (const Instant end = now_ + duration; now_ < end; now_ += milliseconds(10)) {
      membership_.tick(now_);
      take(silent);
    }
  }
  void take(const std::set<HostId>& silent) {
    Membership::Output output = membership_.take_output();
    for (const Outgoing& message : output.messages) {
      if (std::holds_alternative<Probe>(message.body)) {
        ++asked_[message.to];
        last_[message.to] = message.nonce;
        if (!silent.contains(message.to)) {
          ack(message.to, message.nonce, kNever);
        }
      }
    }
    for (const Event& event : output.events) {
      verdicts_ += event.name == "unreachable" ? 1 : 0;
      claims_ += event.name == "claim" ? 1 : 0;
    }
    evidence_.push_back(output.evidence.has_value() ? output.evidence_may_wait ? 'b' : 'n' : '-');
    has_named_ = has_named_ || output.observers.has_value();
  }

  Instant now_{std::chrono::hours(1)};
  Membership membership_;
  std::map<HostId, int> asked_;
  std::map<HostId, Nonce> last_;
  int verdicts_ = 0;
  int claims_ = 0;
  bool has_named_ = false;
  std::string evidence_;  ///< Of each step: 'n' says what is new, 'b' may wait.
};

TEST_F(ArrivalTest, AnAckThatCameInTimeIsInTimeHoweverLateTheLoopIs) {
  for (std::uint8_t host = 1; host < kHosts; ++host) {
    meet(host, true);
  }
  run_for(seconds(20));
  // A loop that is late by less than a pause, again and again, whenever it asked the first.
  for (int round = 0; round < 12; ++round) {
    const int before = asked_[member(1)];
    while (asked_[member(1)] == before) {
      run_for(milliseconds(10), {member(1)});
    }
    const Instant came = now_;
    const Nonce nonce = last_[member(1)];
    for (int late = 0; late < 3; ++late) {
      now_ += milliseconds(450);
      ack(member(2), Nonce(1), kNever);  // Something else to do: no timer has its turn.
    }
    ack(member(1), nonce, came);
    run_for(milliseconds(100));
  }
  EXPECT_EQ(claims_, 0) << "the window of rounds answered late";
}

TEST_F(ArrivalTest, OneClaimIsTakenBackAtOnce) {
  for (std::uint8_t host = 1; host < kHosts; ++host) {
    meet(host, true);
  }
  run_for(seconds(20));
  run_for(seconds(10), {member(1)});
  run_for(seconds(10));
  std::erase(evidence_, '-');
  EXPECT_EQ(evidence_, "nn");
}

TEST_F(ArrivalTest, OfManyClaimsThoseTakenBackMayWaitForEachOther) {
  for (std::uint8_t host = 1; host < kHosts; ++host) {
    meet(host, true);
  }
  run_for(seconds(20));
  run_for(seconds(20), {member(1), member(2), member(3)});
  std::erase(evidence_, '-');
  EXPECT_EQ(evidence_.find('b'), std::string::npos);
  evidence_.clear();
  run_for(seconds(10));
  std::erase(evidence_, '-');
  EXPECT_FALSE(evidence_.empty());
  EXPECT_EQ(evidence_.find('n'), std::string::npos);
}

TEST_F(ArrivalTest, ANewHostProbesNobodyWhoseObserversItWouldHaveToGuess) {
  meet(1, false);
  run_for(kObserversDelay - milliseconds(10));
  EXPECT_FALSE(has_named_);
  EXPECT_EQ(asked_[member(1)], 0);
  run_for(seconds(10), {member(1)});
  EXPECT_TRUE(has_named_);
  EXPECT_GT(asked_[member(1)], 0) << "nobody else might notice that it stopped";
  EXPECT_EQ(verdicts_, 1);
}

TEST_F(ArrivalTest, ANewHostWatchesThoseThatNameIt) {
  meet(1, true);
  run_for(kObserversDelay - milliseconds(10));
  EXPECT_FALSE(has_named_);
  run_for(seconds(3));
  EXPECT_GT(asked_[member(1)], 0);
}

TEST_F(ArrivalTest, WhoMetTheFleetGuessesAnewForThoseThatNamedNobody) {
  meet(1, false);
  EXPECT_EQ(membership_.member(member(1))->observers.size(), 1U);
  for (std::uint8_t host = 2; host < kHosts; ++host) {
    meet(host, true);
  }
  run_for(seconds(1));
  ASSERT_TRUE(has_named_);
  EXPECT_EQ(membership_.member(member(1))->observers.size(), std::size_t{kHosts - 1});
}

}  // namespace
}  // namespace muster::membership
