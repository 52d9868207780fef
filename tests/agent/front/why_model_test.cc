// The reasons of jobs that wait in queues: their queue, its max, and the jobs before them.

#include "agent/front/why_model.h"

#include <gtest/gtest.h>

#include <optional>

#include "agent/front/read_model.h"
#include "scheduler/policy/pending_index.h"
#include "tests/scheduler/state/cluster.h"

namespace muster::agent {
namespace {

using namespace scheduler;           // NOLINT: what the log says
using namespace scheduler::testing;  // NOLINT: the fixture's verbs

/// Four H100; prod may hold two of them, and one runs there.
class WhyModelTest : public ::testing::Test {
 protected:
  WhyModelTest() {
    log.apply(registration(1, 4));
    QueueTree tree;
    tree.nodes.resize(2);
    tree.nodes[0].path = "prod";
    tree.nodes[0].max = {{"h100", 2}};
    tree.nodes[1].path = "research";
    EXPECT_EQ(log.apply(entry::SetQueues{0, tree, {}, {}}).rejected, "");
    log.run(submit("ann", "prod", 1), {member_of(1, 0, 1)});
  }
  JobId submit(const std::string& user, const std::string& queue, std::uint32_t gpus) {
    entry::Submit fact = submission("key" + std::to_string(log.index().value()), gpus);
    fact.spec.user = user;
    fact.spec.queue = queue;
    const ApplyResult done = log.apply(fact);
    EXPECT_EQ(done.rejected, "");
    return done.job;
  }
  JobsKnown known() {
    capacity.emplace(log.state);
    pending.emplace(log.state);
    return {log.state, *capacity, pending->queue()};
  }
  std::string reason_of(JobId job) {
    for (const JobSummary& each : jobs_page(known(), views, JobId()).jobs) {
      if (each.id == job) {
        return each.reason;
      }
    }
    return "";
  }

  Log log;
  std::optional<Capacity> capacity;
  std::optional<PendingIndex> pending;
  crdt::AddressBook addresses;
  HostViews views{addresses, [](HostId) { return nullptr; }, Instant()};
};

TEST_F(WhyModelTest, AMaxIsToldInWords) {
  const JobId job = submit("ann", "prod", 2);
  const WhyInfo why = why_info(known(), views, job);
  EXPECT_EQ(why.queue, "prod");
  EXPECT_EQ(why.tier, "standard");
  EXPECT_EQ(why.full_queue, "prod");
  EXPECT_EQ(why.full_text, "2 H100");
  EXPECT_TRUE(why.would_start.empty());
}

TEST_F(WhyModelTest, WithoutAMaxThereIsNoFullQueue) {
  submit("bob", "prod", 1);
  const WhyInfo why = why_info(known(), views, submit("ann", "research", 4));
  EXPECT_EQ(why.queue, "research");
  EXPECT_EQ(why.full_queue, "");
  EXPECT_EQ(why.full_text, "");
  EXPECT_EQ(why.others_wait, 1U);
  EXPECT_EQ(why.ahead_count, 0U);
}

TEST_F(WhyModelTest, ADryRunBehindOthersGetsNoPlaces) {
  JobSpec spec = spec_of(1);
  spec.user = "ann";
  spec.queue = "research";
  EXPECT_EQ(dry_run_info(known(), views, spec).places.size(), 1U);
  submit("bob", "research", 4);
  EXPECT_TRUE(dry_run_info(known(), views, spec).places.empty());
}

TEST_F(WhyModelTest, ADryRunThatWouldBeFirstHasNoNumberSoFar) {
  JobSpec spec = spec_of(1);
  spec.user = "ann";
  spec.queue = "research";
  EXPECT_EQ(dry_run_info(known(), views, spec).turn.first, JobId());
  submit("bob", "research", 99);
  EXPECT_NE(dry_run_info(known(), views, spec).turn.first, scheduler::kDryRun);
}

TEST_F(WhyModelTest, ARowCountsTheJobsOfItsOwnUserInTheQueue) {
  const JobId first = submit("ann", "research", 4);
  const JobId second = submit("ann", "research", 4);
  const JobId others = submit("bob", "research", 4);
  EXPECT_EQ(reason_of(first), "first of ann in queue research, waits for GPUs");
  EXPECT_EQ(reason_of(second), "behind 1 job");
  EXPECT_EQ(reason_of(others), "first of bob in queue research, waits for GPUs");
}

TEST_F(WhyModelTest, ARowAndADetailNameQueueAndTier) {
  const JobId job = submit("ann", "research", 1);
  const auto detail = job_detail(known(), views, job);
  ASSERT_TRUE(detail.has_value());
  EXPECT_EQ(detail->summary.queue, "research");
  EXPECT_EQ(detail->summary.tier, "standard");
}

}  // namespace
}  // namespace muster::agent
