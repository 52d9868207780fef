// The tree of queues as people see it: the jobs that wait and run in each queue, and below it.

#include "agent/front/queue_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "agent/front/fleet_pools.h"
#include "tests/scheduler/state/cluster.h"

namespace muster::agent {
namespace {

using namespace std::chrono_literals;  // NOLINT: literals only.
using namespace scheduler;             // NOLINT: what the log says
using namespace scheduler::testing;    // NOLINT: the fixture's verbs

QueueNode plain_queue(const std::string& path) {
  QueueNode node;
  node.path = path;
  return node;
}

/// Four H100 and four A100; research/nlp and research/vision have a guarantee of `guaranteed` H100
/// together.
class QueueModelTest : public ::testing::Test {
 protected:
  QueueModelTest() {
    log.apply(registration(1, 4));
    log.apply(registration(2, 4, 1, "A100"));
  }
  void set_queues(std::uint64_t guaranteed) {
    QueueTree tree;
    tree.nodes = {plain_queue("prod"), plain_queue("research"), plain_queue("research/nlp"),
                  plain_queue("research/vision")};
    tree.nodes[1].guaranteed =
        guaranteed == 0 ? QueueAmounts() : QueueAmounts{{"h100", guaranteed}};
    ASSERT_EQ(log.apply(entry::SetQueues{log.state.queues().version(), tree, {}, {}}).rejected, "");
  }
  JobId submit(const std::string& queue, std::uint32_t gpus, std::vector<std::string> types) {
    entry::Submit fact = submission("key" + std::to_string(log.index().value()), gpus);
    fact.spec.user = "ann";
    fact.spec.queue = queue;
    fact.spec.request.gpu_types = std::move(types);
    fact.spec.request.ranks = gpus == 0 ? 2 : 0;
    const ApplyResult done = log.apply(fact);
    EXPECT_EQ(done.rejected, "");
    return done.job;
  }
  QueueUse use(const std::string& path) const {
    const QueueList list = queue_list(log.state);
    const auto found = std::find_if(list.uses.begin(), list.uses.end(),
                                    [&](const QueueUse& each) { return each.path == path; });
    return found == list.uses.end() ? QueueUse() : *found;
  }

  Log log;
};

TEST_F(QueueModelTest, BeforeAnybodySetQueuesThereIsTheDefaultAlone) {
  log.run(submit("", 2, {"H100"}), {member_of(1, 0, 2)});
  submit("", 1, {"H100"});
  const QueueList list = queue_list(log.state);
  EXPECT_EQ(list.version, 0U);
  EXPECT_EQ(list.fleet, (QueueAmounts{{"a100", 4}, {"h100", 4}}));
  ASSERT_EQ(list.uses.size(), 1U);
  EXPECT_EQ(list.uses[0].path, "default");
  EXPECT_TRUE(list.uses[0].is_leaf);
  EXPECT_EQ(list.uses[0].pending, 1U);
  EXPECT_EQ(list.uses[0].running, 1U);
  EXPECT_EQ(list.uses[0].pools, (std::vector<PoolUse>{{"h100", 2000, false}}));
}

TEST_F(QueueModelTest, AQueueCountsWhatIsBelowIt) {
  set_queues(3);
  log.run(submit("research/nlp", 2, {"H100"}), {member_of(1, 0, 2)});
  submit("research/nlp", 1, {"h100"});
  submit("research/vision", 1, {});
  submit("prod", 0, {});
  struct Row {
    std::string path;
    bool is_leaf;
    std::uint64_t pending;
    std::uint64_t running;
    std::vector<PoolUse> pools;
  };
  const std::vector<Row> rows = {
      {"default", true, 0, 0, {}},
      {"prod", true, 1, 0, {{std::string(kCpuPool), 0, false}}},
      {"research", false, 2, 1, {{"a100", 0, false}, {"h100", 2000, true}}},
      {"research/nlp", true, 1, 1, {{"h100", 2000, false}}},
      {"research/vision", true, 1, 0, {{"a100", 0, false}, {"h100", 0, false}}},
  };
  const QueueList list = queue_list(log.state);
  EXPECT_EQ(list.version, 1U);
  EXPECT_EQ(list.tree.nodes.size(), 4U) << "as it was written";
  ASSERT_EQ(list.uses.size(), rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    SCOPED_TRACE(rows[i].path);
    const QueueUse& seen = list.uses[i];
    EXPECT_EQ(seen.path, rows[i].path);
    EXPECT_EQ(seen.is_leaf, rows[i].is_leaf);
    EXPECT_EQ(seen.pending, rows[i].pending);
    EXPECT_EQ(seen.running, rows[i].running);
    EXPECT_EQ(seen.pools, rows[i].pools);
  }
}

TEST_F(QueueModelTest, AQueueIsOwedWhileItsSmallestJobFitsIntoTheGuarantee) {
  for (const auto& [guaranteed, gpus, is_owed] : std::vector<std::tuple<int, int, bool>>{
           {0, 1, false}, {1, 1, true}, {1, 2, false}, {2, 2, true}}) {
    SCOPED_TRACE(std::to_string(guaranteed) + " guaranteed, " + std::to_string(gpus) + " wanted");
    set_queues(static_cast<std::uint64_t>(guaranteed));
    const JobId job = submit("research/nlp", static_cast<std::uint32_t>(gpus), {"H100"});
    EXPECT_EQ(use("research").pools, (std::vector<PoolUse>{{"h100", 0, is_owed}}));
    log.apply(entry::Cancel{job, {"ann"}});
  }
}

TEST_F(QueueModelTest, TheLongestWaitIsThatOfAJobThatWaits) {
  set_queues(0);
  const JobId first = submit("prod", 1, {"H100"});
  log.apply(entry::Tick{20s});
  submit("prod", 1, {"H100"});
  log.apply(entry::Tick{10s});
  EXPECT_EQ(use("prod").longest_wait_ms, 30'000U);
  log.run(first, {member_of(1, 0, 1)});
  EXPECT_EQ(use("prod").longest_wait_ms, 10'000U);
  EXPECT_EQ(use("default").longest_wait_ms, 0U);
}

TEST_F(QueueModelTest, TasksThatAreNoJobsYetWait) {
  set_queues(0);
  entry::Submit fact = submission("array", 1);
  fact.spec.queue = "research/nlp";
  fact.spec.array = ArrayRange{0, 9, 0};
  ASSERT_EQ(log.apply(fact).rejected, "");
  EXPECT_EQ(use("research/nlp").pending, 10U);
  EXPECT_EQ(use("research").pending, 10U);
}

TEST_F(QueueModelTest, TheFleetIsWhatHasNotLeft) {
  log.observe(1, Verdict::kSilent);
  EXPECT_EQ(queue_list(log.state).fleet, (QueueAmounts{{"a100", 4}, {"h100", 4}}));
  log.observe(1, Verdict::kLeft);
  EXPECT_EQ(queue_list(log.state).fleet, (QueueAmounts{{"a100", 4}}));
}

TEST_F(QueueModelTest, PoolsHaveTheNamesOfTheirHosts) {
  const FleetPools fleet = fleet_pools(log.state);
  EXPECT_EQ(name_of_pool(fleet, "a100"), "A100");
  EXPECT_EQ(name_of_pool(fleet, kCpuPool), "CPUs");
  EXPECT_EQ(name_of_pool(fleet, "b200"), "b200");
  EXPECT_EQ(size_of_pool(fleet, log.state, "h100"), 4U);
  EXPECT_EQ(size_of_pool(fleet, log.state, kOtherPool), 8U) << "no type has a pool of its own yet";
}

}  // namespace
}  // namespace muster::agent
