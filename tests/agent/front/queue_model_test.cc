// The tree of queues as people see it: the jobs that wait and run in each queue, and below it.

#include "agent/front/queue_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "agent/front/fleet_pools.h"
#include "scheduler/policy/pending_index.h"
#include "tests/scheduler/state/cluster.h"

namespace muster::agent {
namespace {

using namespace std::chrono_literals;  // NOLINT: literals only.
using namespace scheduler;             // NOLINT: what the log says
using namespace scheduler::testing;    // NOLINT: the fixture's verbs

constexpr std::uint64_t kMinuteMs = 60'000;

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
  JobId submit(const std::string& queue, std::uint32_t gpus, std::vector<std::string> types,
               Tier tier = Tier::kNone) {
    entry::Submit fact = submission("key" + std::to_string(log.index().value()), gpus);
    fact.spec.user = "ann";
    fact.spec.queue = queue;
    fact.spec.tier = tier;
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

  std::vector<OwedWait> owed(Duration least = kOwedWaitTold) const {
    Capacity capacity(log.state);
    const PendingIndex pending(log.state);
    return owed_waits(log.state, capacity, pending.queue(), 0, least);
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

TEST_F(QueueModelTest, AJobThatWaitsForItsBeginIsPendingAndDoesNotCountInTheWaits) {
  set_queues(0);
  entry::Submit fact = submission("begins", 1);
  fact.spec.user = "ann";
  fact.spec.queue = "research/nlp";
  fact.spec.eligibility.begin = 1h;
  const JobId job = log.apply(fact).job;
  fact.key = "array";
  fact.spec.array = ArrayRange{0, 4, 0};
  ASSERT_EQ(log.apply(fact).rejected, "");
  log.apply(entry::Tick{40min});
  for (const std::string path : {"research/nlp", "research"}) {
    const QueueUse seen = use(path);
    EXPECT_EQ(seen.pending, 6U);
    EXPECT_EQ(seen.pending, log.state.waiting_in(path)) << "as max-pending counts them";
    EXPECT_TRUE(seen.waits.empty());
    EXPECT_TRUE(seen.pools.empty());
    EXPECT_EQ(seen.longest_wait_ms, 0U);
  }
  log.apply(entry::Tick{20min});
  log.apply(entry::Tick{1min});
  EXPECT_EQ(use("research/nlp").pending, 6U);
  EXPECT_EQ(use("research").waits, (std::vector<TierWaits>{{"standard", 6, 0, 0, kMinuteMs, job}}));
}

TEST_F(QueueModelTest, JobsThatWaitAreCountedByTier) {
  set_queues(0);
  const JobId oldest = submit("research/nlp", 1, {"H100"}, Tier::kBatch);
  log.apply(entry::Tick{20min});
  const JobId older = submit("research/nlp", 1, {"H100"}, Tier::kStandard);
  submit("research/nlp", 1, {"H100"}, Tier::kStandard);
  log.apply(entry::Tick{10min});
  const JobId young = submit("research/vision", 1, {"H100"}, Tier::kStandard);
  log.apply(entry::Tick{1min});
  const std::vector<TierWaits> nlp = {{"standard", 2, 2, 0, 11 * kMinuteMs, older},
                                      {"batch", 1, 1, 1, 31 * kMinuteMs, oldest}};
  EXPECT_EQ(use("research/nlp").waits, nlp);
  EXPECT_EQ(use("research/nlp").all_waits(), (TierWaits{"", 3, 3, 1, 31 * kMinuteMs, oldest}));
  EXPECT_EQ(use("research/vision").waits,
            (std::vector<TierWaits>{{"standard", 1, 0, 0, kMinuteMs, young}}));
  EXPECT_EQ(use("research").waits,
            (std::vector<TierWaits>{{"standard", 3, 2, 0, 11 * kMinuteMs, older}, nlp[1]}));
  EXPECT_TRUE(use("prod").waits.empty());
}

TEST_F(QueueModelTest, OfSeveralJobsThatWaitEquallyLongTheFirstIsNamed) {
  set_queues(0);
  const JobId first = submit("prod", 1, {"H100"});
  submit("prod", 1, {"H100"}, Tier::kPremium);
  submit("prod", 1, {"H100"});
  log.apply(entry::Tick{5min});
  EXPECT_EQ(use("prod").all_waits().longest, first);
  EXPECT_EQ(use("prod").all_waits().longest_ms, 5 * kMinuteMs);
}

TEST_F(QueueModelTest, AJobThatIsHiddenIsNotNamed) {
  set_queues(0);
  submit("prod", 1, {"H100"});
  Directory directory;
  directory.found({"root"}, LogIndex(1));
  DirectoryChange change;
  change.teams = {{"vision"}, {"speech"}};
  change.users = {{"ann", false, {}, {"vision"}, {}}, {"otto", false, {}, {"speech"}, {}}};
  change.hides_other_teams = true;
  ASSERT_TRUE(directory.change(change, LogIndex(2)));
  const JobSight sight(log.state, directory, "otto");
  const QueueList list = queue_list(log.state, {0, &sight, {}});
  ASSERT_EQ(list.uses[1].path, "prod");
  EXPECT_EQ(list.uses[1].all_waits().count, 1U) << "counts are for everybody";
  EXPECT_EQ(list.uses[1].all_waits().longest, JobId());
}

TEST_F(QueueModelTest, AQueueThatIsOwedAndWaitsForLongIsMarked) {
  set_queues(3);
  log.run(submit("prod", 4, {"H100"}), {member_of(1, 0, 4)});
  EXPECT_TRUE(owed(0min).empty());
  const JobId job = submit("research/nlp", 2, {"H100"});
  log.apply(entry::Tick{9min});
  EXPECT_TRUE(owed().empty());
  EXPECT_EQ(owed(9min).size(), 1U);
  log.apply(entry::Tick{3min});
  const std::vector<OwedWait> waits = owed();
  ASSERT_EQ(waits.size(), 1U) << "research/nlp has no guarantee of its own";
  EXPECT_EQ(waits[0].job, job);
  EXPECT_EQ(waits[0].pool, "h100");
  EXPECT_EQ(waits[0].owed, 3000U);
  EXPECT_EQ(waits[0].waited_ms, 12 * kMinuteMs);
  Capacity capacity(log.state);
  EXPECT_EQ(owed_text(log.state, capacity, waits[0]),
            "research is owed 3 H100 and waits 12 min: 0 of the 2 GPUs of the job fit now, other "
            "queues hold 4");
  const QueueList list = queue_list(log.state, {0, nullptr, waits});
  for (const QueueUse& each : list.uses) {
    const bool is_marked = each.path == "research";
    for (const PoolUse& pool : each.pools) {
      EXPECT_EQ(pool.owed_wait_ms, is_marked ? 12 * kMinuteMs : 0) << each.path;
      EXPECT_EQ(pool.owed_job, is_marked ? job : JobId()) << each.path;
    }
  }
}

TEST_F(QueueModelTest, AQueueWhoseNextJobExceedsItsGuaranteeIsNotMarked) {
  struct Row {
    std::uint64_t guaranteed;
    std::uint32_t gpus;
    std::string type;
    bool is_marked;
  };
  for (const Row& row : std::vector<Row>{{0, 1, "H100", false},
                                         {2, 3, "H100", false},
                                         {3, 3, "H100", true},
                                         {3, 3, "A100", false}}) {
    SCOPED_TRACE(std::to_string(row.guaranteed) + ", " + row.type);
    set_queues(row.guaranteed);
    const JobId job = submit("research/nlp", row.gpus, {row.type});
    log.apply(entry::Tick{20min});
    EXPECT_EQ(owed().size(), row.is_marked ? 1U : 0U);
    log.apply(entry::Cancel{job, {"ann"}});
  }
}

TEST_F(QueueModelTest, TheNextJobOfAQueueIsTheOneThatItsSharesPutFirst) {
  set_queues(4);
  submit("research/nlp", 1, {"H100"}, Tier::kStandard);
  submit("research/vision", 1, {"A100"}, Tier::kInference);
  const JobId premium = submit("research/vision", 1, {"H100"}, Tier::kPremium);
  log.apply(entry::Tick{20min});
  ASSERT_EQ(owed().size(), 1U);
  EXPECT_EQ(owed()[0].job, premium);
  const JobId inference = submit("research/nlp", 1, {}, Tier::kInference);
  EXPECT_TRUE(owed().empty()) << "the next job is young";
  ASSERT_EQ(owed(0min).size(), 1U);
  EXPECT_EQ(owed(0min)[0].job, inference);
}

TEST(WaitedMs, IsByWallClocksIfBothAreKnown) {
  struct Row {
    std::int64_t since_unix_ms;
    std::int64_t now_unix_ms;
    std::uint64_t waited;
  };
  const State state;  // At cluster time 0.
  for (const Row& row : std::vector<Row>{
           {1'000, 61'000, 60'000}, {61'000, 1'000, 0}, {0, 61'000, 5'000}, {1'000, 0, 5'000}}) {
    EXPECT_EQ(waited_ms(state, -5s, row.since_unix_ms, row.now_unix_ms), row.waited);
  }
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
  EXPECT_EQ(name_of_pool(fleet, kOtherPool), "other GPUs");
  EXPECT_EQ(name_of_pool(fleet, "b200"), "b200");
  EXPECT_EQ(size_of_pool(fleet, log.state, "h100"), 4U);
  EXPECT_EQ(size_of_pool(fleet, log.state, kOtherPool), 8U) << "no type has a pool of its own yet";
}

}  // namespace
}  // namespace muster::agent
