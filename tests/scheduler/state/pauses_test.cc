// A job whose program fails pauses before its next attempt, and no other job waits for it.

#include <algorithm>

#include <gtest/gtest.h>

#include "scheduler/policy/pending_index.h"
#include "scheduler/state/job_moves.h"
#include "scheduler/why/explain.h"
#include "tests/scheduler/state/cluster.h"

namespace muster::scheduler {
namespace {

using namespace std::chrono_literals;  // NOLINT: literals only.
using namespace testing;               // NOLINT: the fixture's verbs

class PausesTest : public ::testing::Test {
 protected:
  PausesTest() { log.apply(registration(1, 4)); }

  JobId submit(std::uint32_t retries) {
    entry::Submit fact = submission("key" + std::to_string(++keys_), 1);
    fact.spec.retry.retries = retries;
    return log.apply(fact).job;
  }
  const Job& job(JobId id) const { return *log.state.job(id); }
  /// One attempt, whose only rank exits with this code.
  ApplyResult try_once(JobId id, std::int32_t code) {
    const Token token = log.run(id, {alone});
    log.finish(token, alone, code);
    return log.apply(entry::Stop{token, Cause::kRankFailed});
  }
  void pass(Duration time) { log.apply(entry::Tick{time}); }
  bool may_be_tried(JobId id) const {
    const Job* job = log.state.job(id);
    return job != nullptr && job->is_pending();
  }
  /// Goes on from a snapshot for the rest of the test.
  void restore() {
    Result<State> copy = State::decode(log.state.encode());
    ASSERT_TRUE(copy.has_value()) << copy.error().text;
    copy->check_everything();
    EXPECT_EQ(copy->digest(), log.state.digest());
    log.state = std::move(*copy);
  }

  Log log;
  const Member alone = member_of(1, 0, 1);

 private:
  std::uint64_t keys_ = 0;
};

TEST_F(PausesTest, EachFailureDoublesThePauseUpToAMinute) {
  const JobId id = submit(100);
  for (const Duration pause : {1s, 2s, 4s, 8s, 16s, 32s, 60s, 60s}) {
    try_once(id, 1);
    EXPECT_EQ(job(id).life.state, JobState::kQueued);
    EXPECT_EQ(retry_in(log.state, job(id)), pause);
    pass(pause - 1ms);
    EXPECT_FALSE(may_be_tried(id));
    pass(1ms);
    EXPECT_TRUE(may_be_tried(id));
  }
  EXPECT_EQ(pause_after(UINT32_MAX), kLongestPause);
}

TEST_F(PausesTest, TimeGoesOnThoughNothingElseWaits) {
  try_once(submit(1), 1);
  EXPECT_EQ(log.state.pending(), 0U);
  EXPECT_TRUE(log.state.needs_time());
}

TEST_F(PausesTest, NothingIsDecidedForItMeanwhile) {
  const JobId id = submit(1);
  try_once(id, 1);
  EXPECT_TRUE(log.decide(id, {alone}).is_none());
  pass(1s);
  EXPECT_FALSE(log.decide(id, {alone}).is_none());
}

TEST_F(PausesTest, OthersPassItAndItsPlaceIsKept) {
  const JobId first = submit(1);
  const JobId second = submit(0);
  PendingIndex pending(log.state);
  try_once(first, 1);
  pending.on_changed(log.state, first);
  EXPECT_EQ(pending.first_in("h100"), second);
  EXPECT_TRUE(pending.is_right(log.state));
  const ApplyResult woken = log.apply(entry::Tick{1s});
  EXPECT_TRUE(woken.capacity_changed);
  for (const JobId moved : woken.jobs_moved) {
    pending.on_changed(log.state, moved);
  }
  EXPECT_EQ(pending.first_in("h100"), first);
  EXPECT_TRUE(pending.is_right(log.state));
}

TEST_F(PausesTest, AbortsOrdersAndLostHostsPauseNothing) {
  const JobId id = submit(1);
  const Token refused = log.decide(id, {alone});
  log.apply(entry::Abort{refused, Cause::kRefused, alone.host});
  EXPECT_TRUE(may_be_tried(id));
  const Token requeued = log.run(id, {alone});
  log.apply(entry::Requeue{id, 0, "ann"});
  log.apply(entry::Stop{requeued, Cause::kRequeued});
  log.finish(requeued, alone, 1, true);
  EXPECT_TRUE(may_be_tried(id));
  const Token lost = log.run(id, {alone});
  log.apply(entry::Stop{lost, Cause::kHostLost});
  log.finish(lost, alone, 1, true);
  EXPECT_TRUE(may_be_tried(id));
}

TEST_F(PausesTest, AWordOfAPersonEndsIt) {
  const JobId requeued = submit(1);
  try_once(requeued, 1);
  const ApplyResult said = log.apply(entry::Requeue{requeued, 0, "ann"});
  EXPECT_TRUE(may_be_tried(requeued));
  EXPECT_EQ(said.events.front().name, "job_pause_ended");
  const JobId resumed = submit(1);
  try_once(resumed, 1);
  log.apply(entry::Suspend{resumed, "ann"});
  log.apply(entry::Resume{resumed, "ann"});
  EXPECT_TRUE(may_be_tried(resumed));
  const JobId cancelled = submit(1);
  try_once(cancelled, 1);
  log.apply(entry::Cancel{cancelled, "ann"});
  EXPECT_EQ(job(cancelled).life.state, JobState::kCancelled);
}

TEST_F(PausesTest, ASnapshotKeepsIt) {
  const JobId id = submit(1);
  try_once(id, 1);
  restore();
  EXPECT_FALSE(may_be_tried(id));
  pass(1s);
  EXPECT_TRUE(may_be_tried(id));
}

TEST_F(PausesTest, PeopleAreToldHowLong) {
  const JobId id = submit(9);
  for (const Duration pause : {1s, 2s, 4s}) {
    try_once(id, 3);
    pass(pause);
  }
  const ApplyResult fourth = try_once(id, 3);
  const auto told = std::find_if(fourth.events.begin(), fourth.events.end(),
                                 [](const Event& event) { return event.name == "job_queued"; });
  ASSERT_NE(told, fourth.events.end());
  EXPECT_EQ(told->field("pause_ms"), "8000");
  pass(500ms);
  Capacity capacity(log.state);
  EXPECT_EQ(why(log.state, capacity, PendingIndex(log.state).queue(), id)->text(),
            "rank 0 exited 3; it retries in 8s");
}

TEST_F(PausesTest, TasksThatPauseKeepNoOtherFromItsTurn) {
  entry::Submit fact = submission("array", 1);
  fact.spec.array = ArrayRange{0, 99, 0};
  fact.spec.retry.retries = 5;
  const JobId array = log.apply(fact).job;
  for (std::uint32_t index = 0; index < 10; ++index) {
    ASSERT_TRUE(may_be_tried(task_id(array, index))) << index;
    try_once(task_id(array, index), 1);
  }
  restore();
  EXPECT_TRUE(may_be_tried(task_id(array, 10)));
  EXPECT_EQ(log.state.pending(), 2U) << "as many as while one task was at work";
}

}  // namespace
}  // namespace muster::scheduler
