// The life of a grant as a table: what every cell of it has to obey.

#include "agent/gang/grant_life.h"

#include <set>

#include <gtest/gtest.h>

namespace muster::agent {
namespace {

template <class Check>
void for_each_step(Check check) {
  for (std::size_t phase = 0; phase < kGrantPhaseCount; ++phase) {
    for (std::size_t event = 0; event < kGrantEventCount; ++event) {
      const auto from = static_cast<GrantPhase>(phase);
      const std::optional<GrantPhase> to = grant_step(from, static_cast<GrantEvent>(event));
      if (to.has_value()) {
        check(from, static_cast<GrantEvent>(event), *to);
      }
    }
  }
}

TEST(GrantLife, WhatIsOverNeverBeginsAgain) {
  for_each_step([](GrantPhase from, GrantEvent, GrantPhase) { EXPECT_TRUE(is_live(from)); });
}

TEST(GrantLife, OnlyAGrantWithoutRanksIsAborted) {
  for (std::size_t phase = 0; phase < kGrantPhaseCount; ++phase) {
    const auto from = static_cast<GrantPhase>(phase);
    const bool can_be_aborted = grant_step(from, GrantEvent::kAbort).has_value();
    EXPECT_EQ(can_be_aborted, is_live(from) && !has_ranks(from)) << phase;
  }
}

TEST(GrantLife, WhatLivesCanAlwaysEnd) {
  for (std::size_t phase = 0; phase < kGrantPhaseCount; ++phase) {
    const auto from = static_cast<GrantPhase>(phase);
    EXPECT_EQ(grant_step(from, GrantEvent::kEnd).has_value(), is_live(from)) << phase;
  }
}

TEST(GrantLife, RanksComeOfAStartOrOfAnEarlierLifeOfTheAgent) {
  for_each_step([](GrantPhase from, GrantEvent event, GrantPhase to) {
    const bool is_of_earlier_life =
        event == GrantEvent::kFoundActive || event == GrantEvent::kFoundSilent ||
        (event == GrantEvent::kRanksStarted && state_of(from) == scheduler::GrantState::kStarting);
    if (has_ranks(to) && !has_ranks(from)) {
      EXPECT_TRUE(from == GrantPhase::kStartHeard || is_of_earlier_life);
    }
  });
}

TEST(GrantLife, AHoldOnceBegunRunsUntilTheEnd) {
  for_each_step([](GrantPhase from, GrantEvent, GrantPhase to) {
    EXPECT_TRUE(!has_hold(from) || has_hold(to) || !is_live(to));
  });
}

TEST(GrantLife, EveryPhaseIsReached) {
  std::set<GrantPhase> reached = {phase_of_found(scheduler::GrantState::kReady),
                                  phase_of_found(scheduler::GrantState::kStarting)};
  for (std::size_t round = 0; round < kGrantPhaseCount; ++round) {
    for_each_step([&](GrantPhase from, GrantEvent, GrantPhase to) {
      if (reached.contains(from)) {
        reached.insert(to);
      }
    });
  }
  EXPECT_EQ(reached.size(), kGrantPhaseCount);
}

}  // namespace
}  // namespace muster::agent
