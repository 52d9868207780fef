// Jobs that wait for the end of others, for a begin, and that have a deadline, entry by entry.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "scheduler/policy/pending_index.h"
#include "scheduler/state/eligibility_rules.h"
#include "scheduler/why/conditions.h"
#include "scheduler/why/explain.h"
#include "tests/scheduler/state/cluster.h"

namespace muster::scheduler {
namespace {

using namespace std::chrono_literals;  // NOLINT: literals only.
using namespace testing;               // NOLINT: the fixture's verbs

class EligibilityTest : public ::testing::Test {
 protected:
  EligibilityTest() { log.apply(registration(1, 4)); }

  entry::Submit asked(const Eligibility& eligibility) {
    entry::Submit fact = submission("key" + std::to_string(++keys_), 1);
    fact.spec.eligibility = eligibility;
    return fact;
  }
  JobId submit(const Eligibility& eligibility = {}) {
    const ApplyResult done = log.apply(asked(eligibility));
    EXPECT_EQ(done.rejected, "");
    return done.job;
  }
  JobId submit_array(const Eligibility& eligibility, std::uint32_t last) {
    entry::Submit fact = asked(eligibility);
    fact.spec.array = ArrayRange{0, last, 0};
    const ApplyResult done = log.apply(fact);
    EXPECT_EQ(done.rejected, "");
    return done.job;
  }
  const Job& job(JobId id) const { return *log.state.job(id); }
  JobState state_of(JobId id) const {
    const TaskArray* array = log.state.array(id);
    return array == nullptr ? job(id).life.state : array->state();
  }
  ApplyResult end(JobId id, JobState how) {
    if (how == JobState::kCancelled) {
      return log.apply(entry::Cancel{id, "ann"});
    }
    const Token token = log.run(id, {alone});
    const ApplyResult over = log.finish(token, alone, how == JobState::kCompleted ? 0 : 3);
    return how == JobState::kCompleted ? over : log.apply(entry::Stop{token, Cause::kRankFailed});
  }
  ApplyResult pass(Duration time) { return log.apply(entry::Tick{time}); }
  /// Goes on from a snapshot, which gives the same bytes.
  void restore() {
    Result<State> copy = State::decode(log.state.encode());
    ASSERT_TRUE(copy.has_value()) << copy.error().text;
    copy->check_everything();
    EXPECT_EQ(copy->encode(), log.state.encode());
    log.state = std::move(*copy);
  }
  static bool is_moved(const ApplyResult& result, JobId id) {
    return std::find(result.jobs_moved.begin(), result.jobs_moved.end(), id) !=
           result.jobs_moved.end();
  }

  Log log;
  const Member alone = member_of(1, 0, 1);

 private:
  std::uint64_t keys_ = 0;
};

struct EndRow {
  Ending wanted;
  JobState end;
  bool is_met;
  std::string reason;  ///< Of the job that is cancelled.
};

const std::vector<EndRow>& end_rows() {
  using enum JobState;
  static const std::vector<EndRow> rows = {
      {Ending::kOk, kCompleted, true, ""},
      {Ending::kOk, kFailed, false, "it was to start after job 1 succeeded, and job 1 failed"},
      {Ending::kOk, kCancelled, false,
       "it was to start after job 1 succeeded, and job 1 was cancelled"},
      {Ending::kFail, kCompleted, false, "it was to start after job 1 failed, and job 1 completed"},
      {Ending::kFail, kFailed, true, ""},
      {Ending::kFail, kCancelled, true, ""},
      {Ending::kAny, kCompleted, true, ""},
      {Ending::kAny, kFailed, true, ""},
      {Ending::kAny, kCancelled, true, ""},
  };
  return rows;
}

class EndTest : public EligibilityTest, public ::testing::WithParamInterface<EndRow> {
 protected:
  void judge(JobId id) const {
    const EndRow& row = GetParam();
    EXPECT_EQ(job(id).is_pending(), row.is_met);
    EXPECT_EQ(state_of(id), row.is_met ? JobState::kQueued : JobState::kCancelled);
    if (!row.is_met) {
      EXPECT_EQ(job(id).life.reason, row.reason);
    }
  }
};

TEST_P(EndTest, CountsWhenTheJobEnds) {
  const JobId first = submit();
  const JobId second = submit({{{GetParam().wanted, first}}, 0s, 0s});
  EXPECT_EQ(state_of(second), JobState::kQueued);
  EXPECT_FALSE(job(second).is_pending());
  EXPECT_EQ(log.state.pending(), 1U);
  EXPECT_TRUE(log.decide(second, {alone}).is_none()) << "it must not be decided";
  restore();
  EXPECT_TRUE(is_moved(end(first, GetParam().end), second));
  judge(second);
}

TEST_P(EndTest, CountsAtOnceIfTheJobHasEnded) {
  const JobId first = submit();
  end(first, GetParam().end);
  const JobId second = submit({{{GetParam().wanted, first}}, 0s, 0s});
  judge(second);
  restore();
  judge(second);
}

TEST_P(EndTest, CountsOfATaskAndOfAWholeArray) {
  const JobId first = submit_array({}, 0);
  ASSERT_EQ(first, JobId(1));
  const JobId of_task = submit({{{GetParam().wanted, task_id(first, 0)}}, 0s, 0s});
  const JobId of_array = submit({{{GetParam().wanted, first}}, 0s, 0s});
  end(task_id(first, 0), GetParam().end);
  for (const JobId id : {of_task, of_array}) {
    EXPECT_EQ(job(id).is_pending(), GetParam().is_met) << text_of(id);
    EXPECT_EQ(state_of(id) == JobState::kCancelled, !GetParam().is_met) << text_of(id);
  }
}

INSTANTIATE_TEST_SUITE_P(Ends, EndTest, ::testing::ValuesIn(end_rows()));

TEST_F(EligibilityTest, AllItemsHaveToBeMet) {
  const JobId first = submit();
  const JobId second = submit();
  const JobId last = submit({{{Ending::kOk, first}, {Ending::kAny, second}}, 0s, 0s});
  end(first, JobState::kCompleted);
  EXPECT_FALSE(job(last).is_pending());
  end(second, JobState::kFailed);
  EXPECT_TRUE(job(last).is_pending());
}

TEST_F(EligibilityTest, AChainEndsInOneEntry) {
  std::vector<JobId> chain = {submit()};
  for (int i = 0; i < 20; ++i) {
    chain.push_back(submit({{{Ending::kOk, chain.back()}}, 0s, 0s}));
  }
  const JobId cleaner = submit({{{Ending::kFail, chain.back()}}, 0s, 0s});
  end(chain.front(), JobState::kFailed);
  for (std::size_t i = 1; i < chain.size(); ++i) {
    EXPECT_EQ(state_of(chain[i]), JobState::kCancelled) << i;
  }
  EXPECT_TRUE(job(cleaner).is_pending()) << "a job that was cancelled counts as failed";
}

TEST_F(EligibilityTest, AnUnknownJobIsRefused) {
  const JobId known = submit();
  for (const JobId id : {JobId(99), known.next(), task_id(known, 0)}) {
    const ApplyResult refused =
        log.apply(asked({{{Ending::kAny, known}, {Ending::kOk, id}}, 0s, 0s}));
    EXPECT_EQ(refused.rejected_as, ErrorCode::kNotFound);
    EXPECT_NE(refused.rejected.find("--after: item 2 `ok:" + text_of(id) + "`"), std::string::npos)
        << refused.rejected;
  }
  EXPECT_EQ(log.state.jobs().size(), 1U);
}

TEST_F(EligibilityTest, ASubmitThatCouldNeverBeIsRefused) {
  const JobId known = submit();
  const std::vector<Dependency> many(kDependenciesMax + 1, {Ending::kAny, known});
  for (const Eligibility& wrong : {Eligibility{many, 0s, 0s}, Eligibility{{}, 2h, 1h},
                                   Eligibility{{}, 24h * 367, 0s}, Eligibility{{}, 0s, -1s}}) {
    EXPECT_EQ(log.apply(asked(wrong)).rejected_as, ErrorCode::kInvalid);
  }
}

TEST_F(EligibilityTest, AnArrayFailsWithItsFirstTaskThatDoes) {
  const JobId array = submit_array({}, 9);
  const JobId ok = submit({{{Ending::kOk, array}}, 0s, 0s});
  const JobId fail = submit({{{Ending::kFail, array}}, 0s, 0s});
  end(task_id(array, 0), JobState::kFailed);
  EXPECT_EQ(state_of(ok), JobState::kCancelled) << "it can never be any more";
  EXPECT_EQ(job(ok).life.reason,
            "it was to start after job " + text_of(array) + " succeeded, and a task of it failed");
  EXPECT_FALSE(job(fail).is_pending()) << "not all tasks have ended";
  log.apply(entry::Cancel{array, "ann"});
  EXPECT_TRUE(job(fail).is_pending());
}

TEST_F(EligibilityTest, ATaskThatIsCancelledBeforeItsTurnHasEnded) {
  const JobId array = submit_array({}, 9);
  const JobId next = submit({{{Ending::kFail, task_id(array, 7)}}, 0s, 0s});
  log.apply(entry::Cancel{task_id(array, 6), {"ann"}, 8});
  EXPECT_TRUE(job(next).is_pending());
  EXPECT_TRUE(job(submit({{{Ending::kAny, task_id(array, 6)}}, 0s, 0s})).is_pending());
}

TEST_F(EligibilityTest, AnArrayWaitsAsAWhole) {
  const JobId first = submit();
  const JobId array = submit_array({{{Ending::kOk, first}}, 0s, 0s}, 3);
  EXPECT_EQ(log.state.array(array)->queued, 0U);
  EXPECT_EQ(log.state.array(array)->state(), JobState::kQueued);
  restore();
  end(first, JobState::kCompleted);
  EXPECT_EQ(log.state.array(array)->queued, 1U);
  EXPECT_TRUE(job(task_id(array, 0)).is_pending());
}

TEST_F(EligibilityTest, AnArrayThatCanNeverBeginIsCancelled) {
  const JobId first = submit();
  const JobId array = submit_array({{{Ending::kOk, first}}, 0s, 0s}, 3);
  const JobId next = submit({{{Ending::kFail, array}}, 0s, 0s});
  end(first, JobState::kFailed);
  EXPECT_EQ(log.state.array(array)->state(), JobState::kCancelled);
  EXPECT_EQ(log.state.array(array)->cancelled, 4U);
  EXPECT_EQ(log.state.array(array)->wait.ended_by,
            "it was to start after job 1 succeeded, and job 1 failed");
  EXPECT_TRUE(job(next).is_pending());
  restore();
}

TEST_F(EligibilityTest, AWaitingArrayCanBeCancelled) {
  const JobId first = submit();
  const JobId array = submit_array({{{Ending::kOk, first}}, 1h, 0s}, 3);
  log.apply(entry::Cancel{array, "ann"});
  EXPECT_EQ(log.state.array(array)->state(), JobState::kCancelled);
  end(first, JobState::kCompleted);
  EXPECT_EQ(log.state.array(array)->cancelled, 4U);
}

TEST_F(EligibilityTest, ABeginIsNeverEarly) {
  pass(5s);
  const JobId id = submit({{}, 10s, 0s});
  EXPECT_TRUE(log.state.needs_time());
  EXPECT_EQ(log.state.pending(), 0U);
  EXPECT_FALSE(is_moved(pass(10s - 1ms), id));
  restore();
  EXPECT_FALSE(job(id).is_pending());
  const ApplyResult begun = pass(1ms);
  EXPECT_TRUE(is_moved(begun, id));
  EXPECT_TRUE(begun.capacity_changed);
  EXPECT_TRUE(job(id).is_pending());
}

TEST_F(EligibilityTest, OthersPassAJobThatWaitsAndItsPlaceIsKept) {
  const JobId first = submit({{}, 10s, 0s});
  const JobId second = submit();
  PendingIndex pending(log.state);
  EXPECT_EQ(pending.first_in("h100"), second);
  for (const JobId moved : pass(10s).jobs_moved) {
    pending.on_changed(log.state, moved);
  }
  EXPECT_EQ(pending.first_in("h100"), first);
  EXPECT_TRUE(pending.is_right(log.state));
}

TEST_F(EligibilityTest, ADeadlineFailsAJobThatHasNotStarted) {
  const JobId queued = submit({{}, 0s, 10s});
  const JobId held = submit({{}, 0s, 10s});
  log.apply(entry::Suspend{held, "ann"});
  const JobId next = submit({{{Ending::kFail, queued}}, 0s, 0s});
  pass(10s - 1ms);
  EXPECT_EQ(state_of(queued), JobState::kQueued);
  restore();
  pass(1ms);
  for (const JobId id : {queued, held}) {
    EXPECT_EQ(state_of(id), JobState::kFailed);
    EXPECT_EQ(job(id).life.reason, "its deadline passed before it started");
    EXPECT_EQ(job(id).life.exit_code, kExitTooLate);
  }
  EXPECT_TRUE(job(next).is_pending());
  EXPECT_TRUE(log.state.needs_time()) << "the last one is pending";
}

TEST_F(EligibilityTest, ADeadlineChangesNothingOfAJobThatStarted) {
  const JobId id = submit({{}, 0s, 10s});
  const Token token = log.run(id, {alone});
  pass(20s);
  EXPECT_EQ(state_of(id), JobState::kRunning);
  log.apply(entry::Requeue{id, 0, "ann"});
  log.apply(entry::Stop{token, Cause::kRequeued});
  log.finish(token, alone, 1, true);
  pass(20s);
  EXPECT_EQ(state_of(id), JobState::kQueued) << "it did start by then";
}

TEST_F(EligibilityTest, ADeadlineFailsAReservedAttemptOnceThatIsAborted) {
  const JobId id = submit({{}, 0s, 10s});
  const Token token = log.decide(id, {alone});
  pass(20s);
  EXPECT_EQ(state_of(id), JobState::kScheduled);
  log.apply(entry::Abort{token, Cause::kRefused, alone.host});
  EXPECT_EQ(state_of(id), JobState::kFailed);
}

TEST_F(EligibilityTest, BeginAndDeadlineInOneTickAreTooLate) {
  const JobId id = submit({{}, 10s, 11s});
  pass(1h);
  EXPECT_EQ(state_of(id), JobState::kFailed);
}

TEST_F(EligibilityTest, ADeadlineFailsAnArrayOfWhichNoTaskStarted) {
  const JobId late = submit_array({{}, 0s, 10s}, 3);
  const JobId waiting = submit_array({{}, 5s, 10s}, 3);
  const JobId begun = submit_array({{}, 0s, 10s}, 3);
  log.apply(entry::Cancel{task_id(late, 2), "ann"});
  log.run(task_id(begun, 0), {alone});
  pass(10s);
  EXPECT_EQ(log.state.array(late)->state(), JobState::kFailed);
  EXPECT_EQ(log.state.array(late)->failed, 3U);
  EXPECT_EQ(log.state.array(late)->cancelled, 1U);
  EXPECT_EQ(log.state.array(waiting)->failed, 4U);
  EXPECT_EQ(log.state.array(begun)->state(), JobState::kRunning);
  EXPECT_EQ(log.state.array(begun)->failed, 0U);
  restore();
}

TEST_F(EligibilityTest, OrdersOfPeopleLeaveTheConditions) {
  const JobId first = submit();
  const JobId id = submit({{{Ending::kAny, first}}, 0s, 0s});
  log.apply(entry::Suspend{id, "ann"});
  log.apply(entry::Resume{id, "ann"});
  log.apply(entry::Requeue{id, 0, "ann"});
  EXPECT_FALSE(job(id).is_pending());
  log.apply(entry::Suspend{id, "ann"});
  end(first, JobState::kCompleted);
  EXPECT_EQ(state_of(id), JobState::kSuspended);
  log.apply(entry::Resume{id, "ann"});
  EXPECT_TRUE(job(id).is_pending());
}

TEST_F(EligibilityTest, AHeldJobThatCanNeverBeginIsCancelledAndAccepted) {
  const JobId first = submit();
  end(first, JobState::kFailed);
  entry::Submit fact = asked({{{Ending::kOk, first}}, 0s, 0s});
  fact.spec.is_held = true;
  const ApplyResult done = log.apply(fact);
  EXPECT_EQ(done.rejected, "");
  EXPECT_EQ(state_of(done.job), JobState::kCancelled);
}

TEST_F(EligibilityTest, APackWaitsFromTheBeginOn) {
  entry::Submit fact = asked({{}, 1h, 0s});
  fact.spec.request.pack = Pack::kRack;
  fact.spec.request.pack_wait = 10s;
  const JobId id = log.apply(fact).job;
  pass(1h);
  EXPECT_FALSE(job(id).life.is_relaxed);
  pass(10s);
  EXPECT_TRUE(job(id).life.is_relaxed);
}

TEST_F(EligibilityTest, AnEditChangesTheTimesOfAJobThatWasNeverTried) {
  const JobId id = submit({{}, 1h, 2h});
  entry::Edit edit{id, 0, {"ann"}, true};
  edit.begin = 3h;
  EXPECT_EQ(log.apply(edit).rejected_as, ErrorCode::kInvalid) << "after the deadline";
  edit.deadline = 0s;
  EXPECT_EQ(log.apply(edit).rejected, "");
  pass(1h);
  pass(1h);
  EXPECT_FALSE(job(id).is_pending());
  EXPECT_EQ(state_of(id), JobState::kQueued) << "it has no deadline any more";
  edit.begin = 0s;
  edit.deadline.reset();
  EXPECT_TRUE(is_moved(log.apply(edit), id));
  EXPECT_TRUE(job(id).is_pending());
  edit.begin = 1h;
  log.apply(edit);
  EXPECT_FALSE(job(id).is_pending());
  restore();
  edit.begin = 0s;
  log.apply(edit);
  log.run(id, {alone});
  EXPECT_EQ(log.apply(edit).rejected_as, ErrorCode::kConflict);
}

TEST_F(EligibilityTest, AnEditOfAnArrayIsOfTheWhole) {
  const JobId array = submit_array({{}, 1h, 0s}, 3);
  entry::Edit edit{task_id(array, 0), 0, {"ann"}, true};
  edit.begin = 0s;
  EXPECT_NE(log.apply(edit).rejected, "");
  edit.job = array;
  EXPECT_EQ(log.apply(edit).rejected, "");
  EXPECT_EQ(log.state.array(array)->queued, 1U);
  EXPECT_EQ(log.apply(edit).rejected_as, ErrorCode::kConflict) << "a task is in the queue";
  edit.begin.reset();
  edit.deadline = 1s;
  EXPECT_EQ(log.apply(edit).rejected, "");
  pass(1s);
  EXPECT_EQ(log.state.array(array)->failed, 4U);
}

TEST_F(EligibilityTest, ConditionsAreNotAPartOfTheCommandThatAgentsHear) {
  const JobId id = submit({{}, 10s, 20s});
  EXPECT_TRUE(job(id).spec.eligibility.is_none());
}

TEST_F(EligibilityTest, TheKeyOfASubmitGivesTheSameJobWhateverTheSpan) {
  entry::Submit fact = asked({{}, 10s, 0s});
  const JobId id = log.apply(fact).job;
  fact.spec.eligibility.begin = 9s;
  EXPECT_EQ(log.apply(fact).job, id);
  pass(9s);
  EXPECT_FALSE(job(id).is_pending());
}

TEST_F(EligibilityTest, APartlyCancelledArrayMayStillBeginLater) {
  const JobId array = submit_array({{}, 1h, 0s}, 3);
  entry::Cancel cancel{task_id(array, 0), "ann"};
  cancel.last = 1;
  EXPECT_EQ(log.apply(cancel).rejected, "");
  entry::Edit edit{array, 0, {"ann"}, true};
  edit.begin = 2h;
  EXPECT_EQ(log.apply(edit).rejected, "");
}

TEST_F(EligibilityTest, AnArrayThatStartedGetsNoDeadline) {
  const JobId array = submit_array({}, 3);
  const Token token = log.run(task_id(array, 0), {alone});
  log.apply(entry::Requeue{task_id(array, 0), 0, "ann"});
  log.apply(entry::Stop{token, Cause::kRequeued});
  log.finish(token, alone, 1, true);
  EXPECT_EQ(log.state.array(array)->state(), JobState::kQueued);
  entry::Edit edit{array, 0, {"ann"}, true};
  edit.deadline = 1s;
  EXPECT_EQ(log.apply(edit).rejected_as, ErrorCode::kConflict);
}

TEST_F(EligibilityTest, TasksOfAnArrayThatIsTooLateHaveFailed) {
  const JobId late = submit_array({{}, 0s, 10s}, 3);
  const JobId after_failure = submit({{{Ending::kFail, task_id(late, 3)}}, 0s, 0s});
  const JobId after_success = submit({{{Ending::kOk, task_id(late, 3)}}, 0s, 0s});
  pass(10s);
  EXPECT_TRUE(job(after_failure).is_pending());
  EXPECT_EQ(job(after_success).life.reason, "it was to start after job " +
                                                text_of(task_id(late, 3)) + " succeeded, and job " +
                                                text_of(task_id(late, 3)) + " failed");
}

TEST_F(EligibilityTest, ARecoveryWaitsForThoseThatStartedInTime) {
  const JobId id = submit({{}, 0s, 10s});
  log.decide(id, {alone});
  pass(9s);
  log.state.begin_epoch(2, LogIndex(1));
  EXPECT_EQ(state_of(id), JobState::kQueued);
  pass(5s);
  EXPECT_EQ(state_of(id), JobState::kQueued) << "its Start may be in the part that is lost";
  pass(kAdoptionWindow);
  EXPECT_EQ(state_of(id), JobState::kFailed);
}

/// A state of its own without a look at everything behind each entry.
class ManyConditions : public ::testing::Test {
 protected:
  ApplyResult apply(const Entry& entry) { return state.apply(LogIndex(++index_), entry); }
  JobId submit(std::vector<Dependency> after, bool is_array = false) {
    entry::Submit fact = submission("key" + std::to_string(index_), 1);
    fact.spec.eligibility.after = std::move(after);
    if (is_array) {
      fact.spec.array = ArrayRange{0, 1, 0};
    }
    const ApplyResult done = apply(fact);
    EXPECT_EQ(done.rejected, "");
    return done.job;
  }
  /// Ticks until nobody waits for the next entry, at most `most` times. Returns how many.
  std::size_t settle(std::size_t most) {
    std::size_t ticks = 0;
    for (; ticks < most && !state.conditions().over().empty(); ++ticks) {
      EXPECT_TRUE(state.needs_time());
      apply(entry::Tick{1s});
      state.check_everything();
    }
    return ticks;
  }

  State state;

 private:
  std::uint64_t index_ = 0;
};

TEST_F(ManyConditions, OneEntrySettlesSomeOfThem) {
  const JobId first = submit({});
  for (std::size_t i = 0; i < 2 * kSettledMax + 1; ++i) {
    submit({{Ending::kAny, first}});
  }
  apply(entry::Cancel{first, "ann"});
  EXPECT_EQ(state.pending(), kSettledMax);
  Result<State> copy = State::decode(state.encode());
  ASSERT_TRUE(copy.has_value()) << copy.error().text;
  EXPECT_EQ(copy->encode(), state.encode());
  state = *std::move(copy);
  EXPECT_EQ(settle(9), 2U);
  EXPECT_EQ(state.pending(), 2 * kSettledMax + 1);
}

TEST_F(ManyConditions, OneTickBeginsSomeOfThem) {
  for (std::size_t i = 0; i < kSettledMax + 1; ++i) {
    entry::Submit fact = submission("key" + std::to_string(i), 1);
    fact.spec.eligibility.begin = 10s;
    apply(fact);
  }
  apply(entry::Tick{10s});
  EXPECT_EQ(state.pending(), kSettledMax);
  EXPECT_TRUE(state.needs_time());
  apply(entry::Tick{1ms});
  EXPECT_EQ(state.pending(), kSettledMax + 1);
}

TEST_F(ManyConditions, ManyArraysEndInAnyOrder) {
  const JobId first = submit({});
  const JobId second = submit({{Ending::kOk, first}}, true);
  const JobId third = submit({{Ending::kOk, second}}, true);
  for (std::size_t i = 0; i < kArraysEndedKept + 1; ++i) {
    submit({{Ending::kOk, first}}, true);
  }
  apply(entry::Cancel{first, "ann"});
  settle(9);
  EXPECT_EQ(state.arrays().size(), kArraysEndedKept);
  EXPECT_EQ(state.arrays().count(third), 1U) << "it ended last";
}

TEST_F(ManyConditions, NoConditionIsAboutAForgottenJob) {
  const JobId first = submit({});
  const JobId id = submit({{Ending::kAny, first}});
  apply(entry::Cancel{first, "ann"});
  for (std::size_t i = 0; i < kJobsEndedKept; ++i) {
    apply(entry::Cancel{submit({}), "ann"});
  }
  EXPECT_EQ(state.job(first), nullptr);
  EXPECT_TRUE(state.job(id)->is_pending());
  EXPECT_EQ(state.job(id)->life.wait.after.size(), 1U) << "for people";
  state.check_everything();
}

TEST_F(ManyConditions, AChainEndsAsAWhole) {
  const JobId first = submit({});
  JobId last = first;
  for (std::size_t i = 0; i < kSettledMax + 10; ++i) {
    last = submit({{Ending::kOk, last}});
  }
  apply(entry::Cancel{first, "ann"});
  EXPECT_FALSE(state.job(last)->has_ended());
  EXPECT_EQ(settle(9), 1U);
  EXPECT_EQ(state.job(last)->life.state, JobState::kCancelled);
}

TEST_F(EligibilityTest, PeopleAreToldWhatItWaitsFor) {
  const JobId first = submit();
  const JobId id = submit({{{Ending::kOk, first}}, 2h, 8h});
  EXPECT_EQ(conditions_brief(log.state, job(id).life.wait), "after 1");
  EXPECT_EQ(conditions_text(log.state, job(id).life.wait),
            "it waits until job 1 succeeded (queued); it begins in 2h; it fails unless it has "
            "started in 8h");
  Capacity capacity(log.state);
  const auto told = why(log.state, capacity, PendingIndex(log.state).queue(), id);
  EXPECT_EQ(told->text(), conditions_text(log.state, job(id).life.wait));
  EXPECT_EQ(told->turn.rule, TurnRule::kNone) << "it has no turn yet";
  end(first, JobState::kCompleted);
  EXPECT_EQ(conditions_brief(log.state, job(id).life.wait), "begins in 2h");
  pass(1h);
  pass(1h);
  EXPECT_EQ(conditions_text(log.state, job(id).life.wait), "");
}

TEST(ConditionsText, SpansHaveTwoUnits) {
  EXPECT_EQ(left_text(0s), "1s");
  EXPECT_EQ(left_text(1500ms), "2s");
  EXPECT_EQ(left_text(2h + 5min + 3s), "2h 5m");
  EXPECT_EQ(left_text(48h), "2d");
  EXPECT_EQ(left_text(24h + 5min), "1d");
}

}  // namespace
}  // namespace muster::scheduler
