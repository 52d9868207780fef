// The agent's handle on a supervisor as a table: each rule is asked of every cell, and together
// they leave no cell open.

#include "agent/edge/supervisor/handle_life.h"

#include <set>

#include <gtest/gtest.h>

namespace muster::agent {
namespace {

template <class Check>
void for_each_phase(Check check) {
  for (std::size_t phase = 0; phase < kHandlePhaseCount; ++phase) {
    SCOPED_TRACE(phase);
    check(static_cast<HandlePhase>(phase));
  }
}

/// check(from, event, to): every cell, `to` = nothing where it is no news.
template <class Check>
void for_each_cell(Check check) {
  for_each_phase([&](HandlePhase from) {
    for (std::size_t event = 0; event < kHandleEventCount; ++event) {
      SCOPED_TRACE(event);
      const auto known = static_cast<HandleEvent>(event);
      check(from, known, handle_step(from, known));
    }
  });
}

bool is_news(HandlePhase from, HandleEvent event) {
  return handle_step(from, event).has_value();
}

/// Where it is after `event`.
HandlePhase after(HandlePhase from, HandleEvent event) {
  return handle_step(from, event).value_or(from);
}

TEST(HandleLife, NewsChangeThePhaseAndAreNoNewsTwice) {
  for_each_cell([](HandlePhase from, HandleEvent event, std::optional<HandlePhase> to) {
    if (to.has_value()) {
      EXPECT_NE(*to, from);
      EXPECT_FALSE(is_news(*to, event));
    }
    HandlePhase phase = from;
    EXPECT_EQ(take_step(phase, event), to.has_value());
    EXPECT_EQ(phase, to.value_or(from));
  });
}

TEST(HandleLife, TheFirstAnswerIsNewsWhateverWasKnownBefore) {
  for_each_phase([](HandlePhase from) {
    EXPECT_EQ(is_news(from, HandleEvent::kAnswer), !has_answered(from));
    EXPECT_TRUE(has_answered(after(from, HandleEvent::kAnswer)));
  });
  EXPECT_EQ(after(HandlePhase::kSpawned, HandleEvent::kAnswer), HandlePhase::kAnswered);
  EXPECT_EQ(after(HandlePhase::kFound, HandleEvent::kAnswer), HandlePhase::kAnswered);
  EXPECT_EQ(after(HandlePhase::kSilent, HandleEvent::kAnswer), HandlePhase::kAnswered);
}

TEST(HandleLife, OnlyAnAnswerEndsTheWaitForOne) {
  for_each_cell([](HandlePhase from, HandleEvent event, std::optional<HandlePhase> to) {
    if (to.has_value() && event != HandleEvent::kAnswer) {
      EXPECT_EQ(has_answered(from), has_answered(*to));
      EXPECT_EQ(is_found(from), is_found(*to));
    }
  });
}

TEST(HandleLife, OnlyOneThatWasFoundAndIsDueIsEverSilent) {
  for_each_phase([](HandlePhase from) {
    EXPECT_EQ(is_news(from, HandleEvent::kOverdue), is_due(from));
    EXPECT_EQ(is_silent(after(from, HandleEvent::kOverdue)), is_found(from));
  });
}

TEST(HandleLife, ALaunchIsNewsOfOneThatAnsweredAndStartedNothing) {
  for_each_phase([](HandlePhase from) {
    EXPECT_EQ(is_news(from, HandleEvent::kLaunch), from == HandlePhase::kAnswered);
  });
  EXPECT_EQ(after(HandlePhase::kAnswered, HandleEvent::kLaunch), HandlePhase::kOrdered);
}

TEST(HandleLife, ThatRanksRunIsNewsBeforeTheirEndAlone) {
  for_each_phase([](HandlePhase from) {
    const bool is_running = from == HandlePhase::kRunning || from == HandlePhase::kRunningDismissed;
    const bool may_begin = has_answered(from) && !has_ended(from) && !is_running;
    EXPECT_EQ(is_news(from, HandleEvent::kRanksRun), may_begin);
    if (may_begin) {
      EXPECT_EQ(after(from, HandleEvent::kRanksRun),
                is_dismissed(from) ? HandlePhase::kRunningDismissed : HandlePhase::kRunning);
    }
  });
}

TEST(HandleLife, AnEndIsToldOnceAndOfWhatAnsweredAlone) {
  for_each_phase([](HandlePhase from) {
    EXPECT_EQ(is_news(from, HandleEvent::kRanksOver), has_answered(from) && !has_ended(from));
    EXPECT_EQ(has_ended(after(from, HandleEvent::kRanksOver)), has_answered(from));
  });
  for_each_cell([](HandlePhase from, HandleEvent event, std::optional<HandlePhase> to) {
    if (to.has_value() && event != HandleEvent::kRanksOver) {
      EXPECT_EQ(has_ended(from), has_ended(*to));
    }
  });
}

TEST(HandleLife, ADismissalIsNeverTakenBack) {
  for_each_phase([](HandlePhase from) {
    EXPECT_EQ(is_news(from, HandleEvent::kDismiss), !is_dismissed(from));
    EXPECT_TRUE(is_dismissed(after(from, HandleEvent::kDismiss)));
    EXPECT_FALSE(is_awaited(after(from, HandleEvent::kDismiss)));
  });
  for_each_cell([](HandlePhase from, HandleEvent event, std::optional<HandlePhase> to) {
    if (to.has_value() && event != HandleEvent::kDismiss) {
      EXPECT_EQ(is_dismissed(from), is_dismissed(*to));
    }
  });
}

/// The reports about a supervisor do not depend on whether it was dismissed before.
TEST(HandleLife, ADismissalComesToTheSameBeforeAnEventAsAfterIt) {
  for_each_cell([](HandlePhase from, HandleEvent event, std::optional<HandlePhase> to) {
    const HandlePhase dismissed = after(from, HandleEvent::kDismiss);
    EXPECT_EQ(after(dismissed, event), after(to.value_or(from), HandleEvent::kDismiss));
    if (event != HandleEvent::kLaunch && event != HandleEvent::kDismiss) {
      EXPECT_EQ(is_news(dismissed, event), to.has_value());
    }
  });
}

TEST(HandleLife, EveryPhaseIsReached) {
  std::set<HandlePhase> reached = {HandlePhase::kSpawned, HandlePhase::kFound};
  for (std::size_t round = 0; round < kHandlePhaseCount; ++round) {
    for_each_cell([&](HandlePhase from, HandleEvent, std::optional<HandlePhase> to) {
      if (reached.contains(from) && to.has_value()) {
        reached.insert(*to);
      }
    });
  }
  EXPECT_EQ(reached.size(), kHandlePhaseCount);
}

}  // namespace
}  // namespace muster::agent
