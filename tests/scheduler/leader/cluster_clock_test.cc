// Cluster time lags behind true time by what no Tick counts yet. No span until a begin or a
// deadline is over early for that, whatever the clock of the leader is at.

#include <optional>

#include "scheduler/protocol/codec.h"
#include "tests/scheduler/leader/one_leader.h"

namespace muster::scheduler {
namespace {

using namespace testing;               // NOLINT: the fixture's verbs
using namespace std::chrono_literals;  // NOLINT

const Duration kTickEvery = SchedulerConfig().tick_every;

class ClusterClockTest : public OneLeader {
 protected:
  void ask(Duration begin, Duration deadline = 0s) {
    JobSpec spec = spec_of(1);
    spec.eligibility.begin = begin;
    spec.eligibility.deadline = deadline;
    asked_at_ = now;
    give(input::ClientSubmit{++request, "waits", spec, "alice"});
  }
  void edit(std::optional<Duration> begin, std::optional<Duration> deadline) {
    entry::Edit edit{*scheduler.state().job_of_key("waits"), 0, {"ann"}, true};
    edit.begin = begin;
    edit.deadline = deadline;
    asked_at_ = now;
    give(input::ClientOrder{++request, edit});
  }
  /// A Tick is proposed, and for some time nothing commits.
  void leave_a_tick_on_its_way() {
    commit = false;
    pass(kTickEvery);
    ASSERT_EQ(pending.size(), 1U);
    pass(600ms);
  }
  void commit_all() {
    commit = true;
    settle();
  }
  bool waits() const {
    const std::optional<JobId> known = scheduler.state().job_of_key("waits");
    return !known.has_value() || scheduler.state().job(*known)->life.wait.is_open();
  }
  bool has_failed() const {
    return scheduler.state().job(*scheduler.state().job_of_key("waits"))->life.state ==
           JobState::kFailed;
  }
  /// From when it was asked for until it was over, to a 200th, and at most twice the span.
  template <class IsOver>
  Duration time_until(Duration span, IsOver is_over) {
    while (!is_over() && now < asked_at_ + 2 * span) {
      pass(span / 200);
    }
    return now - asked_at_;
  }
  /// `late`: how much later it may be, beside the time between two Ticks.
  void expect_begin_after(Duration span, Duration late = 0s) {
    const Duration passed = time_until(span, [this] { return !waits(); });
    EXPECT_GE(passed, span);
    EXPECT_LE(passed, span + late + kTickEvery + span / 200);
  }
  void expect_failure_after(Duration span) {
    const Duration passed = time_until(span, [this] { return has_failed(); });
    EXPECT_GE(passed, span);
    EXPECT_LE(passed, span + kTickEvery + span / 200);
  }

 private:
  Instant asked_at_;
};

TEST_F(ClusterClockTest, ASpanCountsFromItsSubmitNotFromTheLastTick) {
  running_gang();
  pass(700ms);
  ask(10s);
  expect_begin_after(10s);
}

TEST_F(ClusterClockTest, ATickOnItsWayDoesNotCountTheTimeSince) {
  running_gang();
  leave_a_tick_on_its_way();
  ask(10s);
  commit_all();
  expect_begin_after(10s);
}

TEST_F(ClusterClockTest, ALeaderThatSleptCountsNoneOfIt) {
  running_gang();
  now += 40min;
  ask(30min);
  EXPECT_TRUE(waits());
  expect_begin_after(30min);
}

TEST_F(ClusterClockTest, NorOneThatSleptLongerThanATickCounts) {
  running_gang();
  leave_a_tick_on_its_way();
  now += 3h;
  ask(30min);
  commit_all();
  expect_begin_after(30min);
}

TEST_F(ClusterClockTest, TimeThatStandsStillIsNotAdded) {
  join(1);
  pass(1h);
  ASSERT_FALSE(scheduler.state().needs_time());
  ask(10s);
  expect_begin_after(10s);
}

TEST_F(ClusterClockTest, TimeThatStandsStillWhileTheSubmitIsOnItsWay) {
  join(1);
  commit = false;
  ask(10s);
  pass(3s);
  commit_all();
  expect_begin_after(10s, 3s);
}

TEST_F(ClusterClockTest, TheSeldomTickForTicketsDoesNotCountTheTimeBefore) {
  join(1);
  give(input::ClientOrder{++request,
                          entry::MakeTicket{"t", 1, 1h, false, false, "", {"ann@a"}, HostId()}});
  ASSERT_TRUE(scheduler.state().has_open_ticket());
  ASSERT_FALSE(scheduler.state().needs_time());
  pass(20s);
  commit = false;
  ask(15s);
  pass(12s);
  commit_all();
  expect_begin_after(15s, 12s);
}

TEST_F(ClusterClockTest, ASubmitThatIsProposedAgainCountsFromThen) {
  running_gang();
  commit = false;
  ask(10s);
  pending.clear();
  pass(SchedulerConfig().propose_again + 600ms);
  ask(10s);
  commit_all();
  expect_begin_after(10s);
}

TEST_F(ClusterClockTest, AnEditCountsFromItsOrder) {
  running_gang();
  ask(1h);
  pass(700ms);
  edit(10s, std::nullopt);
  expect_begin_after(10s);
}

TEST_F(ClusterClockTest, AnEditBehindATickOnItsWay) {
  running_gang();
  ask(1h, 2h);
  leave_a_tick_on_its_way();
  edit(std::nullopt, 90min);
  edit(10s, std::nullopt);
  commit_all();
  expect_begin_after(10s);
  EXPECT_FALSE(has_failed());
}

TEST_F(ClusterClockTest, AnEditThatTakesABeginAwayAddsNone) {
  running_gang();
  ask(1h);
  leave_a_tick_on_its_way();
  edit(0s, std::nullopt);
  commit_all();
  EXPECT_FALSE(waits());
}

TEST_F(ClusterClockTest, ADeadlineIsNotEarly) {
  running_gang();
  pass(700ms);
  ask(0s, 10s);
  expect_failure_after(10s);
}

TEST_F(ClusterClockTest, ADeadlineBehindATickOnItsWayIsNotEarly) {
  running_gang();
  leave_a_tick_on_its_way();
  ask(0s, 10s);
  commit_all();
  expect_failure_after(10s);
}

TEST_F(ClusterClockTest, TheLongestSpansStayInRangeAndInOrder) {
  running_gang();
  leave_a_tick_on_its_way();
  ask(kSpanMax - 1ms, kSpanMax);
  commit_all();
  EXPECT_EQ(halted, "");
  EXPECT_TRUE(scheduler.state().job_of_key("waits").has_value());
}

}  // namespace
}  // namespace muster::scheduler
