// Histories written by hand, good and bad: what the judge must accept and what it must refuse.

#include "tests/sim/linearisable.h"

#include <gtest/gtest.h>

namespace muster::sim {
namespace {

using scheduler::JobEvent;
using scheduler::JobState;

constexpr JobState kQueued = JobState::kQueued;
constexpr JobState kScheduled = JobState::kScheduled;
constexpr JobState kRunning = JobState::kRunning;
constexpr JobState kStopping = JobState::kStopping;
constexpr JobState kSuspended = JobState::kSuspended;
constexpr JobState kCompleted = JobState::kCompleted;
constexpr JobState kFailed = JobState::kFailed;
constexpr JobState kCancelled = JobState::kCancelled;

/// Instants are milliseconds. Operations come in any order.
class Linearisable : public testing::Test {
 protected:
  Operation& add(int began, int ended, Asked asked, Answered answered = Answered::kDone) {
    Operation operation;
    operation.asked = std::move(asked);
    operation.answered = answered;
    operation.began = Instant() + std::chrono::milliseconds(began);
    operation.ended = Instant() + std::chrono::milliseconds(ended);
    history_.push_back(std::move(operation));
    return history_.back();
  }
  /// 0 = no answer came.
  void submit(int began, int ended, const std::string& key, std::uint64_t job) {
    add(began, ended, SubmitAsked{key}, job == 0 ? Answered::kNothing : Answered::kDone).job =
        JobId(job);
  }
  void word(int began, int ended, JobEvent word, std::uint64_t job,
            Answered answered = Answered::kDone) {
    add(began, ended, WordAsked{word, JobId(job)}, answered);
  }
  void show(int began, int ended, std::uint64_t job, const std::string& key, JobState state,
            std::uint32_t attempt, std::vector<JobState> life) {
    add(began, ended, ShowAsked{JobId(job)}).seen = {
        {JobId(job), key, state, attempt, std::move(life)}};
  }
  struct Row {
    std::string key;
    JobState state;
    std::uint32_t attempt;
  };
  void list(int began, int ended, const std::vector<Row>& rows) {
    std::vector<Sighting> seen;
    for (const Row& row : rows) {
      seen.push_back({JobId(seen.size() + 1), row.key, row.state, row.attempt, {}});
    }
    add(began, ended, ListAsked()).seen = std::move(seen);
  }
  bool is_good() const {
    const Verdict verdict = judge(history_);
    EXPECT_NE(verdict.judgement, Judgement::kUndecided);
    EXPECT_EQ(verdict.why.empty(), verdict.judgement == Judgement::kLinearisable);
    return verdict.judgement == Judgement::kLinearisable;
  }

  std::vector<Operation> history_;
};

TEST_F(Linearisable, AnEmptyHistoryIsGood) {
  EXPECT_TRUE(is_good());
}

TEST_F(Linearisable, JobsMoveByThemselvesBetweenReads) {
  submit(0, 1, "a", 1);
  show(2, 3, 1, "a", kQueued, 0, {kQueued});
  show(4, 5, 1, "a", kRunning, 1, {kQueued, kScheduled, kRunning});
  list(6, 7, {{"a", kCompleted, 1}});
  EXPECT_TRUE(is_good());
}

TEST_F(Linearisable, OneKeyIsOneJob) {
  submit(0, 1, "a", 1);
  submit(2, 3, "a", 1);
  submit(4, 5, "b", 2);
  EXPECT_TRUE(is_good());
}

TEST_F(Linearisable, OneKeyIsNeverTwoJobs) {
  submit(0, 1, "a", 1);
  submit(2, 3, "a", 2);
  EXPECT_FALSE(is_good());
}

TEST_F(Linearisable, TwoKeysAreNeverOneJob) {
  submit(0, 1, "a", 1);
  submit(0, 1, "b", 1);
  EXPECT_FALSE(is_good());
}

TEST_F(Linearisable, NumbersFollowTheOrderOfAnswers) {
  submit(0, 1, "a", 2);
  submit(2, 3, "b", 1);
  EXPECT_FALSE(is_good());
}

TEST_F(Linearisable, SubmitsAtOneTimeMayTakeAnyOrder) {
  submit(0, 9, "a", 2);
  submit(1, 8, "b", 1);
  EXPECT_TRUE(is_good());
}

TEST_F(Linearisable, ANumberIsSkippedOnlyForASubmitWhoseOutcomeIsUnknown) {
  submit(2, 3, "a", 2);
  EXPECT_FALSE(is_good());
  submit(0, 1, "lost", 0);
  EXPECT_TRUE(is_good());
}

TEST_F(Linearisable, AnUnansweredSubmitMayTakeEffectLateButNotEarly) {
  list(0, 1, {});
  submit(2, 3, "a", 0);
  list(4, 5, {});
  list(6, 7, {{"a", kQueued, 0}});
  EXPECT_TRUE(is_good());
  list(8, 9, {});
  EXPECT_FALSE(is_good());
}

TEST_F(Linearisable, AReadNeverShowsWhatIsAskedLater) {
  list(0, 1, {{"a", kQueued, 0}});
  submit(2, 3, "a", 1);
  EXPECT_FALSE(is_good());
}

TEST_F(Linearisable, AnAnsweredSubmitIsSeenByEachLaterRead) {
  submit(0, 1, "a", 1);
  list(2, 3, {});
  EXPECT_FALSE(is_good());
}

TEST_F(Linearisable, AnAnsweredSubmitIsFoundByEachLaterShow) {
  submit(0, 1, "a", 1);
  add(2, 3, ShowAsked{JobId(1)}, Answered::kNotFound);
  EXPECT_FALSE(is_good());
}

TEST_F(Linearisable, WhatWasSurelyNotDoneIsNeverSeen) {
  add(0, 1, SubmitAsked{"a"}, Answered::kNotDone);
  list(2, 3, {});
  EXPECT_TRUE(is_good());
  list(4, 5, {{"a", kQueued, 0}});
  EXPECT_FALSE(is_good());
}

TEST_F(Linearisable, AReadNeverGoesBackInAJobsLife) {
  submit(0, 1, "a", 1);
  list(2, 3, {{"a", kRunning, 1}});
  list(4, 5, {{"a", kScheduled, 1}});
  EXPECT_FALSE(is_good());
}

TEST_F(Linearisable, AReadNeverGoesBackWithinStatesThatReturn) {
  submit(0, 1, "a", 1);
  word(1, 2, JobEvent::kSuspend, 1);
  show(2, 3, 1, "a", kQueued, 0, {kQueued, kSuspended, kQueued});
  EXPECT_FALSE(is_good());  // Nobody resumed it.
  word(1, 2, JobEvent::kResume, 1, Answered::kNothing);
  EXPECT_TRUE(is_good());
  show(4, 5, 1, "a", kQueued, 0, {kQueued});
  EXPECT_FALSE(is_good());
}

TEST_F(Linearisable, ReadsAtOneTimeMaySeeBeforeAndAfter) {
  submit(0, 1, "a", 1);
  list(2, 9, {{"a", kScheduled, 1}});
  list(3, 4, {{"a", kRunning, 1}});
  EXPECT_TRUE(is_good());
}

TEST_F(Linearisable, AListShowsOneInstant) {
  submit(0, 1, "a", 1);
  submit(2, 3, "b", 2);
  // Each job by itself could be explained; both lists together cannot.
  list(4, 9, {{"a", kRunning, 1}, {"b", kQueued, 0}});
  list(4, 9, {{"a", kQueued, 0}, {"b", kRunning, 1}});
  EXPECT_FALSE(is_good());
}

TEST_F(Linearisable, AllReadsTellOneLife) {
  submit(0, 1, "a", 1);
  word(0, 9, JobEvent::kSuspend, 1);
  show(2, 9, 1, "a", kScheduled, 1, {kQueued, kScheduled});
  show(2, 9, 1, "a", kSuspended, 0, {kQueued, kSuspended});
  EXPECT_FALSE(is_good());
}

TEST_F(Linearisable, ALifeHasOnlyTheTablesEdges) {
  submit(0, 1, "a", 1);
  show(2, 3, 1, "a", kRunning, 1, {kQueued, kRunning});
  EXPECT_FALSE(is_good());
}

TEST_F(Linearisable, AnAnsweredCancelOfAQueuedJobIsSeen) {
  submit(0, 1, "a", 1);
  list(2, 3, {{"a", kQueued, 0}});
  word(4, 5, JobEvent::kCancel, 1);
  list(6, 7, {{"a", kCancelled, 0}});
  EXPECT_TRUE(is_good());
  list(8, 9, {{"a", kScheduled, 1}});
  EXPECT_FALSE(is_good());
}

TEST_F(Linearisable, ACancelledAttemptEndsCancelledOrCompletedAndNeverFailed) {
  for (const JobState end : {kCancelled, kCompleted, kFailed, kQueued}) {
    history_.clear();
    submit(0, 1, "a", 1);
    list(2, 3, {{"a", kStopping, 1}});
    word(4, 5, JobEvent::kCancel, 1);
    list(6, 7, {{"a", end, 1}});
    EXPECT_EQ(is_good(), end == kCancelled || end == kCompleted) << static_cast<int>(end);
  }
}

TEST_F(Linearisable, ASuspendedJobRestsUntilItIsResumed) {
  submit(0, 1, "a", 1);
  word(2, 3, JobEvent::kSuspend, 1);
  list(4, 5, {{"a", kSuspended, 0}});
  list(6, 7, {{"a", kRunning, 1}});
  EXPECT_FALSE(is_good());
  word(6, 7, JobEvent::kResume, 1);
  EXPECT_TRUE(is_good());
}

TEST_F(Linearisable, AnOrderTakenBackLeadsToTheQueue) {
  submit(0, 1, "a", 1);
  list(2, 3, {{"a", kRunning, 1}});
  word(4, 5, JobEvent::kSuspend, 1);
  list(6, 7, {{"a", kStopping, 1}});
  word(8, 9, JobEvent::kResume, 1);
  list(10, 11, {{"a", kSuspended, 1}});
  EXPECT_FALSE(is_good());
  history_.pop_back();
  list(10, 11, {{"a", kScheduled, 2}});
  EXPECT_TRUE(is_good());
}

TEST_F(Linearisable, AnUnansweredSuspendMayComeBehindAnAnsweredResume) {
  submit(0, 1, "a", 1);
  word(2, 3, JobEvent::kSuspend, 1, Answered::kNothing);
  word(4, 5, JobEvent::kResume, 1);
  list(6, 7, {{"a", kSuspended, 0}});
  EXPECT_TRUE(is_good());
  word(8, 9, JobEvent::kResume, 1);
  list(10, 11, {{"a", kQueued, 0}});
  list(12, 13, {{"a", kSuspended, 0}});
  EXPECT_FALSE(is_good());  // It takes effect once.
}

TEST_F(Linearisable, WordsAreRefusedWhereTheTableRefusesThem) {
  submit(0, 1, "a", 1);
  word(2, 3, JobEvent::kSuspend, 1, Answered::kConflict);  // It has completed meanwhile.
  EXPECT_TRUE(is_good());
  list(4, 5, {{"a", kRunning, 1}});
  EXPECT_FALSE(is_good());
}

TEST_F(Linearisable, ACancelIsNotRefusedByAJobThatRunsLater) {
  submit(0, 1, "a", 1);
  word(2, 3, JobEvent::kCancel, 1, Answered::kConflict);
  list(4, 5, {{"a", kQueued, 0}});
  EXPECT_FALSE(is_good());
}

TEST_F(Linearisable, WordsAboutNoJobFindNone) {
  word(0, 1, JobEvent::kCancel, 1, Answered::kNotFound);
  submit(2, 3, "a", 1);
  EXPECT_TRUE(is_good());
  word(4, 5, JobEvent::kCancel, 1, Answered::kNotFound);
  EXPECT_FALSE(is_good());
}

TEST_F(Linearisable, ANameBelongsToItsKey) {
  submit(0, 9, "a", 0);
  submit(0, 9, "b", 0);
  list(10, 11, {{"b", kQueued, 0}});
  list(12, 13, {{"b", kQueued, 0}, {"a", kQueued, 0}});
  EXPECT_TRUE(is_good());
  list(14, 15, {{"a", kQueued, 0}, {"b", kQueued, 0}});
  EXPECT_FALSE(is_good());
}

TEST_F(Linearisable, ARefusalNamesWhatCannotBeExplained) {
  submit(0, 1, "a", 1);
  list(2, 3, {});
  history_.back().by = "client 7";
  EXPECT_NE(judge(history_).why.find("2..3 client 7: list"), std::string::npos);
}

}  // namespace
}  // namespace muster::sim
