// The gangs that a leader ends while many hosts are silent: in turn, slowly, or not at all.

#include <gtest/gtest.h>

#include "tests/scheduler/leader/one_leader.h"

namespace muster::scheduler {
namespace {

using namespace testing;               // NOLINT: the fixture's verbs
using namespace std::chrono_literals;  // NOLINT

/// Thirty gangs of two hosts; of each the second host is silent.
class ManyLost : public OneLeader {
 protected:
  static constexpr std::uint64_t kGangs = 30;
  void lose_one_of_each(StormMode mode) {
    give(input::StormChanged{mode});
    for (std::uint64_t host = 1; host <= 2 * kGangs; ++host) {
      join(host);
    }
    for (std::uint64_t gang = 0; gang < kGangs; ++gang) {
      submit(8, "g" + std::to_string(gang));
    }
    for (std::uint64_t host = 1; host <= 2 * kGangs; ++host) {
      ready(host);
    }
    for (std::uint64_t gang = 1; gang <= kGangs; ++gang) {
      see(2 * gang, Verdict::kSilent);
    }
  }
  std::uint64_t stopping() const {
    std::uint64_t count = 0;
    for (const Token& token : scheduler.state().live()) {
      count += scheduler.state().attempt(token)->state == AttemptState::kStopping ? 1U : 0U;
    }
    return count;
  }
};

TEST_F(ManyLost, AreStoppedInTurn) {
  lose_one_of_each(StormMode::kDomain);
  pass(5s);
  EXPECT_EQ(stopping(), 20U);
  pass(400ms);
  EXPECT_EQ(stopping(), 28U);
  pass(100ms);
  EXPECT_EQ(stopping(), kGangs);
}

TEST_F(ManyLost, AreStoppedATenthAsFastInAPartialStormAndNotAtAllInACut) {
  lose_one_of_each(StormMode::kPartial);
  pass(5s);
  EXPECT_EQ(stopping(), 2U);
  pass(2s);
  EXPECT_EQ(stopping(), 6U);
  give(input::StormChanged{StormMode::kPartitionSuspected});
  pass(1min);
  EXPECT_EQ(stopping(), 6U);
  give(input::StormChanged{StormMode::kNormal});
  pass(1s);
  EXPECT_GE(stopping(), 20U);
}

}  // namespace
}  // namespace muster::scheduler
