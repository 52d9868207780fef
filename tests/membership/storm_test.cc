// Storm: the table of modes, row by row, and how long a mode lasts.

#include "membership/storm.h"

#include <gtest/gtest.h>

#include <array>
#include <set>

namespace muster::membership {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

StormFacts of_hundred() {
  StormFacts facts;
  facts.fleet = 100;
  facts.own_total = 10;
  return facts;
}

TEST(StormTable, RowByRow) {
  struct Row {
    const char* what;
    void (*set)(StormFacts&);
    StormMode mode;
  };
  const Row rows[] = {
      {"nothing", [](StormFacts&) {}, StormMode::kNormal},
      {"two dead", [](StormFacts& f) { f.striking = 2; }, StormMode::kNormal},
      {"two of few", [](StormFacts& f) { f.fleet = 20, f.striking = 2; }, StormMode::kNormal},
      {"four", [](StormFacts& f) { f.striking = 4; }, StormMode::kNormal},
      {"five", [](StormFacts& f) { f.striking = 5; }, StormMode::kPartial},
      {"three of twenty", [](StormFacts& f) { f.fleet = 20, f.striking = 3; }, StormMode::kPartial},
      {"twenty", [](StormFacts& f) { f.striking = 20; }, StormMode::kPartitionSuspected},
      {"a rack", [](StormFacts& f) { f.striking = 25, f.only_rack = "r1"; }, StormMode::kDomain},
      {"suspects of one rack, for a moment",
       [](StormFacts& f) { f.striking = f.in_band = 3, f.only_rack = "r1"; }, StormMode::kNormal},
      {"suspects of one rack that stay suspects",
       [](StormFacts& f) {
         f.striking = f.in_band = 3, f.only_rack = "r1", f.is_band_lasting = true;
       },
       StormMode::kPartitionSuspected},
      {"suspects of one rack and a verdict",
       [](StormFacts& f) { f.striking = 3, f.in_band = 2, f.only_rack = "r1"; },
       StormMode::kDomain},
      {"a second rack",
       [](StormFacts& f) { f.striking = 25, f.only_rack = "r1", f.lost_racks = 2; },
       StormMode::kPartitionSuspected},
      {"half in one rack", [](StormFacts& f) { f.striking = 50, f.only_rack = "r1"; },
       StormMode::kPartitionSuspected},
      {"a rack that the own misses show",
       [](StormFacts& f) { f.striking = 9, f.own_missing = 3, f.only_rack = "r1"; },
       StormMode::kDomain},
      {"the band, for a moment", [](StormFacts& f) { f.striking = f.in_band = 3; },
       StormMode::kNormal},
      {"the band", [](StormFacts& f) { f.striking = f.in_band = 3, f.is_band_lasting = true; },
       StormMode::kPartitionSuspected},
      {"isolated others", [](StormFacts& f) { f.striking = 3, f.isolated = 5; },
       StormMode::kPartitionSuspected},
      {"few isolated others", [](StormFacts& f) { f.striking = 3, f.isolated = 4; },
       StormMode::kNormal},
      {"isolated others alone", [](StormFacts& f) { f.isolated = 9; }, StormMode::kNormal},
      {"own misses", [](StormFacts& f) { f.striking = 3, f.own_missing = 3; },
       StormMode::kPartitionSuspected},
      {"two own misses", [](StormFacts& f) { f.striking = 3, f.own_missing = 2, f.own_total = 6; },
       StormMode::kNormal},
      {"isolated itself", [](StormFacts& f) { f.own_missing = 6, f.is_isolated = true; },
       StormMode::kPartitionSuspected},
  };
  for (const Row& row : rows) {
    StormFacts facts = of_hundred();
    row.set(facts);
    EXPECT_EQ(look_up(facts).mode, row.mode) << row.what << ": " << look_up(facts).reason;
    EXPECT_EQ(look_up(facts).reason.empty(), row.mode == StormMode::kNormal) << row.what;
  }
}

TEST(StormTable, AWideBandHasThreeHostsAndTwoOfAHundred) {
  EXPECT_FALSE(is_wide_band(2, 24));
  EXPECT_TRUE(is_wide_band(3, 24));
  EXPECT_FALSE(is_wide_band(3, 1000));
  EXPECT_TRUE(is_wide_band(20, 1000));
}

class StormTest : public ::testing::Test {
 protected:
  /// Hosts in racks r0, r1 ...; without a rack if `racks` is 0.
  void start(std::size_t hosts, std::size_t racks) {
    storm_ = Storm(now_);
    lost_.clear();
    racks_ = racks;
    for (std::size_t host = 0; host < hosts; ++host) {
      storm_.add_host(rack_of(host));
    }
  }
  std::string rack_of(std::size_t host) const {
    return racks_ == 0 ? "" : "r" + std::to_string(host % racks_);
  }
  static HostId id_of(std::size_t host) {
    std::array<std::uint8_t, HostId::kSizeBytes> bytes{};
    bytes[0] = 1;
    bytes[1] = static_cast<std::uint8_t>(host);
    return HostId(bytes);
  }
  void say(std::size_t host, Silence silence) {
    const bool was_alive = lost_.insert(host).second;
    storm_.on_silence(now_, id_of(host), rack_of(host), silence);
    if (silence == Silence::kNone) {
      lost_.erase(host);
    } else if (was_alive) {
      storm_.on_sudden_silence(now_, id_of(host));
    }
    storm_.update(now_);
    storm_.check_invariants();
  }
  void pass(Duration time) {
    const Instant end = now_ + time;
    while (storm_.next_deadline() <= end) {
      now_ = std::max(now_, storm_.next_deadline());
      storm_.update(now_);
      storm_.check_invariants();
      ASSERT_GT(storm_.next_deadline(), now_) << "it asks for the same moment again";
    }
    now_ = end;
    storm_.update(now_);
  }
  StormMode mode() const { return storm_.mode(); }

  Instant now_ = Instant() + seconds(1000);
  Storm storm_{now_};
  std::size_t racks_ = 0;
  std::set<std::size_t> lost_;  ///< Silent, or their agent was down before.
};

TEST_F(StormTest, AKernelThatFallsSilentAfterItsAgentIsNoSecondLoss) {
  start(10, 0);
  lost_ = {1, 2};
  say(1, Silence::kSuspect);
  say(2, Silence::kSuspect);
  EXPECT_EQ(mode(), StormMode::kNormal);
  say(3, Silence::kSuspect);
  EXPECT_EQ(mode(), StormMode::kNormal);
  say(4, Silence::kSuspect);
  EXPECT_EQ(mode(), StormMode::kPartitionSuspected);
}

TEST_F(StormTest, TwoDeadOfTwentyFourAreNoStormAndTwoOfTenAre) {
  for (const std::size_t hosts : {24U, 10U}) {
    start(hosts, 0);
    say(1, Silence::kSuspect);
    say(1, Silence::kVerdict);
    pass(seconds(4));
    say(2, Silence::kVerdict);
    EXPECT_EQ(mode(), hosts == 24 ? StormMode::kNormal : StormMode::kPartitionSuspected) << hosts;
    pass(seconds(59));
    EXPECT_EQ(mode(), hosts == 24 ? StormMode::kNormal : StormMode::kPartitionSuspected) << hosts;
    pass(seconds(1));
    EXPECT_EQ(mode(), StormMode::kNormal) << hosts;
  }
}

TEST_F(StormTest, ARackIsADomainAndASecondOneIsACut) {
  start(24, 4);
  for (std::size_t host = 0; host < 24; host += 4) {
    say(host, Silence::kVerdict);
  }
  EXPECT_EQ(mode(), StormMode::kDomain);
  pass(seconds(40));
  for (std::size_t host = 1; host < 24; host += 4) {
    say(host, Silence::kVerdict);
  }
  EXPECT_EQ(mode(), StormMode::kPartitionSuspected) << storm_.status().reason;
}

TEST_F(StormTest, ABandIsASignOnceItLastsAndAsLongAsItLasts) {
  start(100, 0);
  for (std::size_t host = 0; host < 4; ++host) {
    say(host, Silence::kSuspect);
  }
  EXPECT_EQ(mode(), StormMode::kNormal);
  pass(milliseconds(499));
  EXPECT_EQ(mode(), StormMode::kNormal);
  pass(milliseconds(1));
  EXPECT_EQ(mode(), StormMode::kPartitionSuspected);
  EXPECT_EQ(storm_.status().reason, "4 of 100 hosts suspect");
  pass(minutes(60));
  EXPECT_EQ(mode(), StormMode::kPartitionSuspected) << "they are still there";
  for (std::size_t host = 0; host < 4; ++host) {
    say(host, Silence::kNone);
  }
  pass(seconds(59));
  EXPECT_EQ(mode(), StormMode::kPartitionSuspected);
  pass(seconds(1));
  EXPECT_EQ(mode(), StormMode::kNormal);
  EXPECT_TRUE(storm_.is_quiet());
}

TEST_F(StormTest, ACautiousModeOutlastsALesserOne) {
  start(100, 0);
  for (std::size_t host = 0; host < 20; ++host) {
    say(host, Silence::kVerdict);
  }
  EXPECT_EQ(mode(), StormMode::kPartitionSuspected);
  for (std::size_t host = 0; host < 14; ++host) {
    say(host, Silence::kNone);
  }
  pass(seconds(59));
  EXPECT_EQ(mode(), StormMode::kPartitionSuspected);
  pass(seconds(1));
  EXPECT_EQ(mode(), StormMode::kPartial) << "six were new until 30 s ago";
  pass(seconds(30));
  EXPECT_EQ(mode(), StormMode::kNormal);
}

/// While it heals a cut looks like ever fewer deaths.
TEST_F(StormTest, WhatAHealPassesThroughIsNotShownAtItsEnd) {
  start(100, 0);
  for (std::size_t host = 0; host < 30; ++host) {
    say(host, Silence::kSuspect);
  }
  pass(seconds(10));
  for (std::size_t host = 0; host < 30; ++host) {
    say(host, host % 3 == 0 ? Silence::kVerdict : Silence::kNone);
  }
  pass(seconds(5));
  for (std::size_t host = 0; host < 30; host += 3) {
    say(host, Silence::kNone);
  }
  pass(seconds(54));
  EXPECT_EQ(mode(), StormMode::kPartitionSuspected);
  pass(seconds(2));
  EXPECT_EQ(mode(), StormMode::kNormal);
  say(50, Silence::kSuspect);
  EXPECT_EQ(mode(), StormMode::kNormal);
}

TEST_F(StormTest, TheLastHostsOfACutAreNoLostRack) {
  start(24, 4);
  for (std::size_t host = 0; host < 12; ++host) {
    say(host, Silence::kVerdict);
  }
  EXPECT_EQ(mode(), StormMode::kPartitionSuspected);
  for (std::size_t host = 0; host < 12; ++host) {
    if (host % 4 != 0) {
      say(host, Silence::kNone);
    }
  }
  pass(seconds(1));
  for (std::size_t host = 0; host < 12; host += 4) {
    say(host, Silence::kNone);
  }
  pass(seconds(58));
  EXPECT_EQ(mode(), StormMode::kPartitionSuspected);
  pass(seconds(1));
  EXPECT_EQ(mode(), StormMode::kNormal);
}

TEST_F(StormTest, WhoIsAwayForLongIsNoPartOfTheFleet) {
  start(24, 0);
  for (std::size_t host = 0; host < 4; ++host) {
    say(host, Silence::kVerdict);
    pass(minutes(11));
  }
  EXPECT_EQ(storm_.status().fleet, 20U);
  EXPECT_EQ(storm_.status().silent, 0U);
  say(0, Silence::kNone);
  EXPECT_EQ(storm_.status().fleet, 21U);
}

TEST_F(StormTest, IsolationOfALargeFleetIsTrustedToBeOverLater) {
  for (const std::size_t hosts : {3U, 30U}) {
    start(hosts, 0);
    storm_.on_own_subjects(2, 2, true);
    EXPECT_TRUE(storm_.update(now_));
    EXPECT_EQ(mode(), StormMode::kPartitionSuspected);
    storm_.on_own_subjects(0, 2, false);
    EXPECT_EQ(storm_.update(now_), hosts == 3);
    pass(seconds(60));
    EXPECT_EQ(mode(), StormMode::kNormal);
  }
}

}  // namespace
}  // namespace muster::membership
