// When seeds are greeted, and when people are told that none answers.

#include "agent/roll/seed_contact.h"

#include <gtest/gtest.h>

namespace muster::agent {
namespace {

using namespace std::chrono_literals;  // NOLINT: literals only.

const gossip::Endpoint kOwn = gossip::Endpoint::ipv4(10, 0, 0, 1, 7450);
const gossip::Endpoint kSeed = gossip::Endpoint::ipv4(10, 0, 0, 2, 7450);
constexpr auto kMet = [](const gossip::Endpoint&) { return true; };
constexpr auto kUnmet = [](const gossip::Endpoint&) { return false; };

class SeedContactTest : public ::testing::Test {
 protected:
  /// Greetings within `time`, each second's due instants obeyed.
  template <class IsMet>
  int greetings(Duration time, bool has_cluster, IsMet is_met) {
    int count = 0;
    for (const Instant end = now_ + time; now_ < end; now_ += 100ms) {
      count += static_cast<int>(contact_.due(now_, has_cluster, is_met).size());
    }
    return count;
  }

  Instant now_{1000s};
  SeedContact contact_{{kOwn, kSeed}, kOwn, now_};
};

TEST_F(SeedContactTest, WhereNobodyListensASeedIsGreetedTwiceASecondForEver) {
  contact_.on_link_down({kSeed, gossip::LinkLoss::kRefused});
  EXPECT_EQ(greetings(60s, true, kUnmet), 120);
}

TEST_F(SeedContactTest, ASeedThatMayBeSlowIsGreetedMoreAndMoreRarely) {
  EXPECT_EQ(greetings(3500ms, true, kUnmet), 3) << "at 0, 0.5, 1.5 and 3.5 s";
  EXPECT_EQ(greetings(60s, true, kUnmet), 30) << "every 2 s, for ever";
  contact_.greet_all(now_);
  EXPECT_EQ(greetings(1s, true, kUnmet), 2) << "as at first";
}

TEST_F(SeedContactTest, AMetSeedIsLeftAloneOnceItToldItsCluster) {
  EXPECT_EQ(greetings(60s, true, kMet), 0);
}

TEST_F(SeedContactTest, AMetSeedIsAskedUntilThisHostHasACluster) {
  EXPECT_EQ(greetings(10s, false, kMet), 20);
  EXPECT_FALSE(contact_.take_complaint(now_));
  EXPECT_EQ(greetings(10s, true, kMet), 0);
}

TEST_F(SeedContactTest, ALostSeedIsGreetedAgainWithinHalfAMinute) {
  EXPECT_EQ(greetings(1s, true, kMet), 0);
  EXPECT_GE(greetings(30s, true, kUnmet), 1);
}

TEST_F(SeedContactTest, WhoJoinsGreetsMetSeedsOnceMore) {
  EXPECT_EQ(greetings(1s, false, kMet), 2);
  contact_.greet_all(now_);
  EXPECT_EQ(contact_.next_deadline(), now_);
  EXPECT_EQ(greetings(60s, true, kMet), 1);
}

TEST_F(SeedContactTest, PeopleHearOfUnmetSeedsEverySecondsAtFirstAndThenOnceAMinute) {
  std::vector<std::int64_t> told;
  for (int second = 0; second < 200; ++second) {
    contact_.due(now_, false, kUnmet);
    if (contact_.take_complaint(now_)) {
      told.push_back(second);
    }
    now_ += 1s;
  }
  EXPECT_EQ(told, (std::vector<std::int64_t>{5, 10, 15, 20, 25, 30, 90, 150}));
}

TEST_F(SeedContactTest, ASeedThatWasMetIsNotMissedAgain) {
  contact_.due(now_, true, kMet);
  EXPECT_TRUE(contact_.unmet().empty());
  contact_.due(now_ + 31s, true, kUnmet);
  EXPECT_TRUE(contact_.unmet().empty());
  EXPECT_FALSE(contact_.take_complaint(now_ + 1h));
}

TEST_F(SeedContactTest, WhoIsNotAloneMissesASeedRarely) {
  const gossip::Endpoint other = gossip::Endpoint::ipv4(10, 0, 0, 3, 7450);
  SeedContact contact({kSeed, other}, kOwn, now_);
  contact.due(now_, true, [&](const gossip::Endpoint& seed) { return seed == other; });
  EXPECT_EQ(contact.unmet(), (std::vector<UnmetSeed>{{kSeed, SeedSilence::kSilent}}));
  EXPECT_TRUE(contact.take_complaint(now_ + 40s));
  EXPECT_FALSE(contact.take_complaint(now_ + 30min));
  EXPECT_TRUE(contact.take_complaint(now_ + 62min));
}

TEST_F(SeedContactTest, HowASeedDoesNotAnswer) {
  const auto silence = [&] { return contact_.unmet().at(0).silence; };
  EXPECT_EQ(silence(), SeedSilence::kSilent);
  contact_.on_link_down({kSeed, gossip::LinkLoss::kRefused});
  EXPECT_EQ(silence(), SeedSilence::kRefused);
  contact_.on_link_down({kSeed, gossip::LinkLoss::kTimeout});
  EXPECT_EQ(silence(), SeedSilence::kSilent);
  contact_.on_foreign(kSeed, SeedSilence::kOtherCluster);
  contact_.on_link_down({kSeed, gossip::LinkLoss::kReset});
  EXPECT_EQ(silence(), SeedSilence::kOtherCluster);
  contact_.on_foreign(kOwn, SeedSilence::kOtherVersion);
  EXPECT_EQ(contact_.unmet().size(), 1U);
}

TEST_F(SeedContactTest, AnOwnAddressIsNoSeed) {
  EXPECT_EQ(contact_.all(), std::vector<gossip::Endpoint>{kSeed});
}

}  // namespace
}  // namespace muster::agent
