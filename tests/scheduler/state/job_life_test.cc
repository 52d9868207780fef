// The table of a job's life: every state with every event under every order, no gaps.

#include "scheduler/state/job_life.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "scheduler/protocol/entry.h"

namespace muster::scheduler {
namespace {

constexpr std::size_t kWords = 4;  ///< cancel, suspend, resume, requeue
const JobOrder kOrders[] = {JobOrder::kNone, JobOrder::kSuspend, JobOrder::kRequeue,
                            JobOrder::kCancel};

std::string cell_text(const JobStep& step) {
  return step.rule == JobRule::kMove ? std::string(text_of(step.to))
                                     : "(" + std::string(text_of(step.rule)) + ")";
}

JobState state_at(std::size_t i) {
  return static_cast<JobState>(i);
}
JobEvent event_at(std::size_t i) {
  return static_cast<JobEvent>(i);
}
bool is_end(JobState state) {
  return state >= JobState::kCompleted;
}

/// The table as a reader of the manual expects it, written a second time. A pair that is not here
/// can never happen.
const std::map<std::string, std::map<std::string, std::string>>& expected() {
  static const std::map<std::string, std::map<std::string, std::string>> table = {
      {"queued",
       {{"cancel", "cancelled"},
        {"suspend", "suspended"},
        {"resume", "(done)"},
        {"requeue", "(done)"},
        {"submitted", "queued"},
        {"decided", "scheduled"},
        {"failed", "failed"}}},
      {"scheduled",
       {{"cancel", "(order)"},
        {"suspend", "(order)"},
        {"resume", "(withdraw)"},
        {"requeue", "(order)"},
        {"started", "running"},
        {"end_cancelled", "cancelled"},
        {"end_suspended", "suspended"},
        {"queued_again", "queued"}}},
      {"running",
       {{"cancel", "(order)"},
        {"suspend", "(order)"},
        {"resume", "(withdraw)"},
        {"requeue", "(order)"},
        {"stop_logged", "stopping"},
        {"completed", "completed"}}},
      {"stopping",
       {{"cancel", "(order)"},
        {"suspend", "(order)"},
        {"resume", "(withdraw)"},
        {"requeue", "(order)"},
        {"completed", "completed"},
        {"end_cancelled", "cancelled"},
        {"end_suspended", "suspended"},
        {"queued_again", "queued"},
        {"failed", "failed"}}},
      {"suspended",
       {{"cancel", "cancelled"},
        {"suspend", "(done)"},
        {"resume", "queued"},
        {"requeue", "queued"},
        {"failed", "failed"}}},
      {"completed",
       {{"cancel", "(refused)"},
        {"suspend", "(refused)"},
        {"resume", "(refused)"},
        {"requeue", "(refused)"}}},
      {"failed",
       {{"cancel", "(refused)"},
        {"suspend", "(refused)"},
        {"resume", "(refused)"},
        {"requeue", "(refused)"}}},
      {"cancelled",
       {{"cancel", "(done)"},
        {"suspend", "(refused)"},
        {"resume", "(refused)"},
        {"requeue", "(refused)"}}},
  };
  return table;
}

TEST(JobLife, EveryPairOfStateAndEventIsInTheTable) {
  EXPECT_EQ(expected().size(), kJobStateCount);
  for (std::size_t state = 0; state < kJobStateCount; ++state) {
    const auto& row = expected().at(std::string(text_of(state_at(state))));
    for (std::size_t event = 0; event < kJobEventCount; ++event) {
      const std::string name(text_of(event_at(event)));
      const auto cell = row.find(name);
      const JobStep step = job_step(state_at(state), JobOrder::kNone, event_at(event));
      EXPECT_EQ(cell_text(step), cell == row.end() ? "(never)" : cell->second)
          << text_of(state_at(state)) << " " << name;
    }
  }
}

TEST(JobLife, AnOperatorIsAnsweredInEveryStateUnderEveryOrder) {
  for (std::size_t state = 0; state < kJobStateCount; ++state) {
    for (const JobOrder order : kOrders) {
      for (std::size_t event = 0; event < kWords; ++event) {
        const JobStep step = job_step(state_at(state), order, event_at(event));
        EXPECT_NE(step.rule, JobRule::kNever);
        const std::string text = refusal_text(JobId(7), state_at(state), order, event_at(event));
        EXPECT_EQ(text.rfind("job 7 ", 0), 0U) << text;
      }
    }
  }
}

TEST(JobLife, OrdersChangeNothingOfWhatTheLogSays) {
  for (std::size_t state = 0; state < kJobStateCount; ++state) {
    for (const JobOrder order : kOrders) {
      for (std::size_t event = kWords; event < kJobEventCount; ++event) {
        EXPECT_EQ(cell_text(job_step(state_at(state), order, event_at(event))),
                  cell_text(job_step(state_at(state), JobOrder::kNone, event_at(event))));
      }
    }
  }
}

TEST(JobLife, ACancelIsNeverTakenBack) {
  for (const JobState state : {JobState::kScheduled, JobState::kRunning, JobState::kStopping}) {
    for (const JobEvent event : {JobEvent::kSuspend, JobEvent::kResume, JobEvent::kRequeue}) {
      EXPECT_EQ(job_step(state, JobOrder::kCancel, event).rule, JobRule::kRefused);
    }
    EXPECT_EQ(job_step(state, JobOrder::kCancel, JobEvent::kCancel).rule, JobRule::kOrder);
  }
  EXPECT_EQ(refusal_text(JobId(7), JobState::kRunning, JobOrder::kCancel, JobEvent::kSuspend),
            "job 7 is being cancelled: no suspend any more");
}

TEST(JobLife, NothingLeavesAnEnd) {
  for (std::size_t from = 0; from < kJobStateCount; ++from) {
    for (std::size_t to = 0; to < kJobStateCount; ++to) {
      if (is_end(state_at(from))) {
        EXPECT_FALSE(is_job_edge(state_at(from), state_at(to)));
      }
    }
  }
}

TEST(JobLife, EveryStateIsReachedAndEveryUnendedOneCanBeCancelled) {
  std::set<JobState> reached = {JobState::kQueued};
  for (std::size_t round = 0; round < kJobStateCount; ++round) {
    for (const JobState from : std::set<JobState>(reached)) {
      for (std::size_t to = 0; to < kJobStateCount; ++to) {
        if (is_job_edge(from, state_at(to))) {
          reached.insert(state_at(to));
        }
      }
    }
  }
  EXPECT_EQ(reached.size(), kJobStateCount);
  for (std::size_t state = 0; state < kJobStateCount; ++state) {
    const JobRule rule = job_step(state_at(state), JobOrder::kNone, JobEvent::kCancel).rule;
    EXPECT_EQ(rule == JobRule::kMove || rule == JobRule::kOrder, !is_end(state_at(state)));
  }
}

TEST(JobLife, ARefusalSaysWhy) {
  const auto text = [](JobState state, JobEvent event) {
    return refusal_text(JobId(7), state, JobOrder::kNone, event);
  };
  EXPECT_EQ(text(JobState::kCompleted, JobEvent::kSuspend),
            "job 7 has completed: nothing to suspend");
  EXPECT_EQ(text(JobState::kFailed, JobEvent::kCancel), "job 7 has failed: nothing to cancel");
  EXPECT_EQ(text(JobState::kCancelled, JobEvent::kResume),
            "job 7 was cancelled: nothing to resume");
  EXPECT_EQ(text(JobState::kCompleted, JobEvent::kRequeue),
            "job 7 has completed: a job that has ended never runs again; submit it again with "
            "`muster submit`");
}

TEST(JobLife, CountsNameWhatWasNeverUsed) {
  JobStepCounts counts;
  const std::size_t before = counts.unreached().size();
  counts.add(JobState::kRunning, JobEvent::kSuspend);
  JobStepCounts all;
  all.merge(counts);
  EXPECT_EQ(all(JobState::kRunning, JobEvent::kSuspend), 1U);
  EXPECT_EQ(all.unreached().size(), before - 1);
}

}  // namespace
}  // namespace muster::scheduler
