// The conditions of jobs and arrays, as clients are told.

#include "agent/front/wait_model.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/front/array_model.h"
#include "agent/front/read_model.h"
#include "agent/front/why_model.h"
#include "scheduler/policy/pending_index.h"
#include "scheduler/state/job_moves.h"
#include "scheduler/why/conditions.h"
#include "tests/scheduler/state/cluster.h"

namespace muster::agent {
namespace {

using namespace std::chrono_literals;  // NOLINT: literals only.
using namespace scheduler;             // NOLINT: what the log says
using namespace scheduler::testing;    // NOLINT: the fixture's verbs

constexpr std::int64_t kNowMs = 1'000'000;

class WaitModelTest : public ::testing::Test {
 protected:
  WaitModelTest() {
    log.apply(registration(1, 4));
    first = log.submit(1);
  }
  JobId submit(const Eligibility& eligibility, bool is_array = false) {
    entry::Submit fact = submission("wait" + std::to_string(++keys_), 1);
    fact.spec.eligibility = eligibility;
    if (is_array) {
      fact.spec.array = ArrayRange{0, 3, 0};
    }
    return apply(fact).job;
  }
  JobId submit_held(const Eligibility& eligibility) {
    entry::Submit fact = submission("held" + std::to_string(++keys_), 1);
    fact.spec.eligibility = eligibility;
    fact.spec.is_held = true;
    return apply(fact).job;
  }
  /// As Log::apply(), with the wall clock of a leader.
  ApplyResult apply(const Entry& entry) {
    next_ = next_ == LogIndex() ? LogIndex(1'000) : next_.next();
    ApplyResult result = log.state.apply(next_, entry, kNowMs);
    EXPECT_EQ(result.rejected, "");
    return result;
  }
  WhyInfo why_of_array(JobId id) { return why_array(known(), views, *log.state.array(id)); }
  JobsKnown known() {
    capacity.emplace(log.state);
    pending.emplace(log.state);
    return {log.state, *capacity, pending->queue()};
  }
  JobSummary summary_of(JobId id) {
    for (const JobSummary& each : jobs_page(known(), views, JobId()).jobs) {
      if (each.id == id) {
        return each;
      }
    }
    return {};
  }

  Log log;
  JobId first;
  std::optional<Capacity> capacity;
  std::optional<PendingIndex> pending;
  crdt::AddressBook addresses;
  HostViews views{addresses, [](HostId) { return nullptr; }, Instant()};

 private:
  LogIndex next_;
  std::uint64_t keys_ = 0;
};

TEST_F(WaitModelTest, ASummaryNamesTheJobsThenTheBegin) {
  const JobId after = submit({{{Ending::kOk, first}}, 2h, 8h});
  const JobSummary summary = summary_of(after);
  EXPECT_EQ(summary.state, "queued");
  EXPECT_EQ(summary.reason, "after 1");
  EXPECT_EQ(summary.wait.after, (std::vector<WaitItem>{{"ok:1", "queued"}}));
  EXPECT_EQ(summary.wait.begin_unix_ms, static_cast<std::uint64_t>(kNowMs + to_ms(2h)));
  EXPECT_EQ(summary.wait.deadline_unix_ms, static_cast<std::uint64_t>(kNowMs + to_ms(8h)));
  EXPECT_FALSE(summary.wait.is_before_begin);
  const JobSummary begins = summary_of(submit({{}, 2h, 0s}));
  EXPECT_EQ(begins.reason, "begins in 2h");
  EXPECT_TRUE(begins.wait.is_before_begin);
}

TEST_F(WaitModelTest, AnArrayWaitsWithTheSameWords) {
  const JobId array = submit({{{Ending::kAny, first}}, 0s, 0s}, true);
  EXPECT_EQ(summary_of(array).reason, "after 1");
  EXPECT_EQ(array_summary(log.state, *log.state.array(array), views).wait.after.size(), 1U);
}

TEST_F(WaitModelTest, WhySaysTheStateOfEachItem) {
  const WhyInfo why = why_info(known(), views, submit({{{Ending::kOk, first}}, 2h, 0s}));
  EXPECT_EQ(why.headline, "it waits until job 1 succeeded (queued); it begins in 2h");
  EXPECT_EQ(why.wait.after, (std::vector<WaitItem>{{"ok:1", "queued"}}));
  EXPECT_TRUE(why.would_start.empty());
}

TEST_F(WaitModelTest, ADryRunWaitsAsTheJobWould) {
  JobSpec spec = spec_of(1);
  spec.eligibility.after = {{Ending::kFail, first}};
  const WhyInfo why = dry_run_info(known(), views, spec);
  EXPECT_NE(why.headline.find("it waits until job 1 failed (queued)"), std::string::npos)
      << why.headline;
  EXPECT_TRUE(why.places.empty());
}

TEST_F(WaitModelTest, ADryRunSaysWhatCanNeverBe) {
  apply(entry::Cancel{first, {"ann"}});
  JobSpec spec = spec_of(1);
  spec.eligibility.after = {{Ending::kOk, first}};
  const WhyInfo why = dry_run_info(known(), views, spec);
  EXPECT_EQ(why.headline,
            "it would be cancelled at once: it was to start after job 1 succeeded, and job 1 was "
            "cancelled");
  EXPECT_TRUE(why.places.empty());
  const JobId real = submit(spec.eligibility);
  EXPECT_EQ("it would be cancelled at once: " + log.state.job(real)->life.reason, why.headline);
}

TEST_F(WaitModelTest, AJobThatEndedDoesNotWait) {
  const std::vector<Eligibility> all = {
      {{{Ending::kOk, first}}, 2h, 0s}, {{}, 2h, 8h}, {{{Ending::kAny, first}}, 0s, 0s}};
  for (const Eligibility& each : all) {
    const JobId job = submit(each);
    apply(entry::Cancel{job, {"ann"}});
    const JobSummary summary = summary_of(job);
    EXPECT_EQ(summary.reason, summary.cause);
    EXPECT_FALSE(summary.wait.is_before_begin);
    ASSERT_EQ(summary.wait.after.size(), each.after.size());
    for (const WaitItem& item : summary.wait.after) {
      EXPECT_EQ(item.state, "") << item.item;
    }
    const WhyInfo why = why_info(known(), views, job);
    EXPECT_EQ(why.headline.find("it waits"), std::string::npos) << why.headline;
    EXPECT_EQ(why.wait, summary.wait);
  }
}

TEST_F(WaitModelTest, AHeldJobWaitsForItsResume) {
  const JobSummary begins = summary_of(submit_held({{}, 2h, 0s}));
  EXPECT_EQ(begins.state, "suspended");
  EXPECT_EQ(begins.reason, begins.cause);
  EXPECT_FALSE(begins.wait.is_before_begin);
  EXPECT_NE(begins.wait.begin_unix_ms, 0U);
  const JobSummary after = summary_of(submit_held({{{Ending::kOk, first}}, 0s, 0s}));
  EXPECT_EQ(after.reason, after.cause);
  EXPECT_EQ(after.wait.after, (std::vector<WaitItem>{{"ok:1", "queued"}}));
}

TEST_F(WaitModelTest, AnArrayWaitsUntilItEnds) {
  const JobId array = submit({{{Ending::kOk, first}}, 0s, 0s}, true);
  EXPECT_EQ(why_of_array(array).headline, "it waits until job 1 succeeded (queued)");
  const JobId begins = submit({{}, 2h, 0s}, true);
  EXPECT_TRUE(why_of_array(begins).wait.is_before_begin);
  for (const JobId id : {array, begins}) {
    apply(entry::Cancel{id, {"ann"}});
    EXPECT_EQ(summary_of(id).reason, "4 of 4 tasks ended, 4 cancelled");
    const WhyInfo why = why_of_array(id);
    EXPECT_EQ(why.headline, "4 of 4 tasks ended, 4 cancelled");
    EXPECT_FALSE(why.wait.is_before_begin);
    EXPECT_TRUE(why.wait.after.empty() || why.wait.after.front().state.empty());
    EXPECT_EQ(summary_of(id).exit_code, kExitCancelled);
  }
}

TEST_F(WaitModelTest, AnArrayThatMissedItsDeadlineSaysSo) {
  const JobId array = submit({{{Ending::kOk, first}}, 0s, 30min}, true);
  apply(entry::Tick{31min});
  const JobSummary summary = summary_of(array);
  EXPECT_EQ(summary.state, "failed");
  EXPECT_EQ(summary.exit_code, kExitTooLate);
  EXPECT_EQ(summary.reason, "its deadline passed before it started");
  EXPECT_EQ(why_of_array(array).headline, summary.reason);
}

TEST_F(WaitModelTest, AnArrayOfWhichATaskFailedHasAnotherExitCode) {
  TaskArray array = *log.state.array(submit({{}, 0s, 8h}, true));
  array.fail_folded();
  array.ended_index = LogIndex(2'000);
  EXPECT_EQ(array_summary(log.state, array, views).exit_code, 1);
}

TEST(WithoutStandings, TakesOutThoseOfJobsThatAreNotSeen) {
  JobWait wait;
  wait.after = {{{Ending::kOk, JobId(7)}, false},
                {{Ending::kAny, JobId(17)}, false},
                {{Ending::kFail, task_id(JobId(8), 3)}, false}};
  const auto seen = [&](const std::string& text) {
    return without_standings(text, wait, [](JobId job) { return job == JobId(17); });
  };
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"", ""},
      {"after 7, 17, 8.3", "after 7, 17, 8.3"},
      {"it waits until job 7 succeeded (running) and job 17 ended (queued) and job 8.3 failed "
       "(waits "
       "for its turn); it begins in 2h",
       "it waits until job 7 succeeded and job 17 ended (queued) and job 8.3 failed; it begins in "
       "2h"},
      {"it was to start after job 7 succeeded, and job 7 failed",
       "it was to start after job 7 succeeded, and that can never be"},
      {"cause=it was to start after job 7 succeeded, and a task of it was cancelled index=9",
       "cause=it was to start after job 7 succeeded, and that can never be index=9"},
      {"it was to start after job 8.3 failed, and job 8.3 completed",
       "it was to start after job 8.3 failed, and that can never be"},
      {"job 7 succeeded, and nothing else", "job 7 succeeded, and nothing else"},
      {"job 7 succeeded (cut", "job 7 succeeded"},
      {"job 17 succeeded (running)", "job 17 succeeded (running)"},
  };
  for (const auto& [text, wanted] : rows) {
    EXPECT_EQ(seen(text), wanted);
  }
}

}  // namespace
}  // namespace muster::agent
