// When an entry may be proposed again, and for how long a Condemn counts as on its way.

#include "scheduler/leader/proposals.h"

#include <gtest/gtest.h>

#include "tests/scheduler/state/cluster.h"

namespace muster::scheduler {
namespace {

using namespace testing;               // NOLINT: the domain's verbs
using namespace std::chrono_literals;  // NOLINT

class ProposalsTest : public ::testing::Test {
 protected:
  bool propose(const Entry& entry) {
    return proposals.propose(
        StepContext{now, config, state, seen, timers, capacity, pending, run_times, output}, entry);
  }

  Instant now{1h};
  SchedulerConfig config;
  State state;
  Capacity capacity{state};
  PendingIndex pending{state};
  RunTimes run_times;
  SeenHosts seen;
  ExpireTimers timers{config.expire_margin};
  SchedulerOutput output;
  Proposals proposals;
  const Token token{1, 7};
  const entry::Condemn condemn{host_id(1), {token}};
  const MemberKey member{token, host_id(1)};
};

TEST_F(ProposalsTest, OneOfANameIsOnItsWay) {
  EXPECT_TRUE(propose(entry::Tick{1s}));
  EXPECT_FALSE(propose(entry::Tick{2s})) << "another value, the same name";
  EXPECT_TRUE(propose(submission("a", 1)));
  EXPECT_EQ(output.proposals.size(), 2U);
  proposals.on_applied(entry::Tick{1s});
  EXPECT_TRUE(propose(entry::Tick{2s}));
}

TEST_F(ProposalsTest, IsSaidAgainOnceItCountsAsLost) {
  EXPECT_TRUE(propose(entry::Tick{1s}));
  EXPECT_EQ(proposals.next_look(), now + config.propose_again);
  now += config.propose_again;
  EXPECT_TRUE(proposals.forget_lost(now));
  EXPECT_EQ(proposals.next_look(), kNever);
  EXPECT_EQ(proposals.free_at(proposal_name(entry::Tick())), Instant::min());
  EXPECT_TRUE(propose(entry::Tick{1s}));
}

TEST_F(ProposalsTest, MemberIsCondemningUntilItsCondemnCameBack) {
  EXPECT_FALSE(proposals.is_condemning(member));
  propose(condemn);
  EXPECT_TRUE(proposals.is_condemning(member));
  proposals.on_applied(condemn);
  EXPECT_FALSE(proposals.is_condemning(member));
}

TEST_F(ProposalsTest, MemberIsCondemningUntilItsCondemnCountsAsLost) {
  propose(condemn);
  proposals.forget_lost(now);
  EXPECT_TRUE(proposals.is_condemning(member));
  now += config.propose_again;
  proposals.forget_lost(now);
  EXPECT_FALSE(proposals.is_condemning(member));
}

TEST_F(ProposalsTest, HostIsRegisteringWhileAnyRegisterOfItIsOnItsWay) {
  propose(registration(1, 4, 2));
  EXPECT_TRUE(proposals.is_registering(host_id(1)));
  EXPECT_FALSE(proposals.is_registering(host_id(2)));
  proposals.on_applied(registration(1, 4, 1));
  EXPECT_TRUE(proposals.is_registering(host_id(1))) << "that was of an earlier start";
  proposals.on_applied(registration(1, 4, 2));
  EXPECT_FALSE(proposals.is_registering(host_id(1)));
}

}  // namespace
}  // namespace muster::scheduler
