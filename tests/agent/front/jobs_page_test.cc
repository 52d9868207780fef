// More jobs than one answer holds: the pages together name each job once.

#include <gtest/gtest.h>

#include <optional>

#include <set>

#include "agent/api/jobs.h"
#include "agent/api/payload.h"
#include "agent/front/read_model.h"
#include "gossip/wire/wire.h"
#include "scheduler/policy/pending_index.h"

namespace muster::agent {
namespace {

class JobsPageTest : public ::testing::Test {
 protected:
  void submit(std::uint64_t count, const std::string& name) {
    for (std::uint64_t i = 0; i < count; ++i) {
      scheduler::JobSpec spec;
      spec.command.argv = {"true"};
      spec.name = name;
      spec.user = name;
      ++index_;
      state_.apply(LogIndex(index_),
                   scheduler::entry::Submit{std::to_string(index_), spec, "test"});
    }
  }
  JobsKnown known() {
    capacity_.emplace(state_);
    pending_.emplace(state_);
    return {state_, *capacity_, pending_->queue()};
  }
  /// Jobs that wait for as many tasks of an array as a job may.
  void submit_waiting(std::uint64_t count) {
    scheduler::JobSpec spec;
    spec.command.argv = {"true"};
    spec.array = scheduler::ArrayRange{0, 99, 0};
    const JobId array =
        state_.apply(LogIndex(++index_), scheduler::entry::Submit{"array", spec, "test"}).job;
    spec.array.reset();
    while (spec.eligibility.after.size() < scheduler::kDependenciesMax) {
      const auto task = static_cast<std::uint32_t>(80 + spec.eligibility.after.size());
      spec.eligibility.after.push_back({scheduler::Ending::kFail, task_id(array, task)});
    }
    for (std::uint64_t i = 0; i < count; ++i) {
      ++index_;
      const auto done = state_.apply(
          LogIndex(index_), scheduler::entry::Submit{std::to_string(index_), spec, "test"});
      ASSERT_EQ(done.rejected, "");
    }
  }
  /// The number of pages; every answer fits into one message.
  std::size_t read_all(std::set<JobId>& ids) {
    JobId after;
    for (std::size_t pages = 1;; ++pages) {
      const JobList page = jobs_page(known(), views_, after);
      EXPECT_LT(encode_payload(page).size(), gossip::kMessageBytesMax - 1024);
      for (const JobSummary& job : page.jobs) {
        EXPECT_GT(job.id, after);
        EXPECT_TRUE(ids.insert(job.id).second);
      }
      if (page.next == JobId()) {
        return pages;
      }
      EXPECT_EQ(page.next, page.jobs.back().id);
      after = page.next;
    }
  }

  scheduler::State state_;
  std::optional<scheduler::Capacity> capacity_;
  std::optional<scheduler::PendingIndex> pending_;
  crdt::AddressBook addresses_;
  HostViews views_{addresses_, [](HostId) { return nullptr; }, Instant()};
  std::uint64_t index_ = 0;
};

TEST_F(JobsPageTest, AllOfManyJobs) {
  submit(3500, "job");
  std::set<JobId> ids;
  EXPECT_GT(read_all(ids), 1U);
  EXPECT_EQ(ids.size(), 3500U);
  EXPECT_EQ(newest_jobs(known(), views_).jobs.size(), kJobsListedMax);
}

TEST_F(JobsPageTest, FewAreOnePageAndNoneIsAnEmptyOne) {
  std::set<JobId> ids;
  EXPECT_EQ(read_all(ids), 1U);
  submit(3, "job");
  EXPECT_EQ(read_all(ids), 1U);
  EXPECT_EQ(ids.size(), 3U);
}

TEST_F(JobsPageTest, APageOfWhatCannotBeIsEmpty) {
  submit(3, "job");
  for (const JobId odd : {kFirstTask, JobId(UINT64_MAX), task_id(JobId(2), 7)}) {
    EXPECT_TRUE(jobs_page(known(), views_, odd).jobs.empty());
    EXPECT_TRUE(jobs_page(known(), views_, JobId(), odd).jobs.empty());
  }
  EXPECT_TRUE(jobs_page(known(), views_, JobId(), JobId(2)).jobs.empty()) << "it is not an array";
}

TEST_F(JobsPageTest, LongNamesMakeShortPages) {
  submit(2000, std::string(250, 'n'));
  std::set<JobId> ids;
  EXPECT_GE(read_all(ids), 2U);
  EXPECT_EQ(ids.size(), 2000U);
}

TEST_F(JobsPageTest, ManyConditionsMakeShortPages) {
  submit_waiting(2500);
  std::set<JobId> ids;
  EXPECT_GE(read_all(ids), 2U);
  EXPECT_EQ(ids.size(), 2501U);
}

}  // namespace
}  // namespace muster::agent
