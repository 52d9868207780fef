// Which of two jobs of a leaf is tried first.

#include "scheduler/policy/queue_key.h"

#include <gtest/gtest.h>

#include <vector>

namespace muster::scheduler {
namespace {

std::vector<std::uint64_t> numbers(const Queue& queue) {
  std::vector<std::uint64_t> order;
  for (const QueueKey& key : queue) {
    order.push_back(key.job.value());
  }
  return order;
}

TEST(QueueKey, HigherPriorityIsTriedFirstThenTheOlder) {
  EXPECT_EQ(numbers({{Tier::kStandard, 1, JobId(1)},
                     {Tier::kStandard, 5, JobId(2)},
                     {Tier::kStandard, 5, JobId(3)}}),
            (std::vector<std::uint64_t>{2, 3, 1}));
}

TEST(QueueKey, TheTierCountsBeforeThePriority) {
  EXPECT_EQ(numbers({{Tier::kBatch, 9, JobId(1)},
                     {Tier::kInference, -9, JobId(2)},
                     {Tier::kInteractive, 9, JobId(3)},
                     {Tier::kPremium, 0, JobId(4)},
                     {Tier::kStandard, 0, JobId(5)}}),
            (std::vector<std::uint64_t>{2, 4, 5, 1, 3}));
}

TEST(QueueKey, AJobFromBeforeThereWereTiersIsAStandardOne) {
  Job job;
  job.id = JobId(3);
  EXPECT_EQ(queue_key_of(job), (QueueKey{Tier::kStandard, 0, JobId(3)}));
  job.spec.tier = Tier::kBatch;
  EXPECT_EQ(queue_key_of(job).tier, Tier::kBatch);
}

TEST(QueueKey, ATaskStandsWhereItsArrayDoes) {
  const JobId array(2);
  const auto key = [](JobId job) { return QueueKey{Tier::kStandard, 0, job}; };
  EXPECT_LT(key(JobId(1)), key(task_id(array, 0)));
  EXPECT_LT(key(task_id(array, 0)), key(task_id(array, 1)));
  EXPECT_LT(key(task_id(array, 1)), key(JobId(3)));
}

TEST(Leaf, UsersOfAFifoQueueShareOne) {
  JobSpec spec;
  spec.user = "zoe";
  spec.queue = "a";
  QueueNode node;
  node.path = "a";
  QueueTree tree;
  tree.nodes = {node};
  EXPECT_EQ(leaf_of(QueueBook(1, tree), spec).user, "zoe");
  tree.nodes[0].is_fifo = true;
  EXPECT_EQ(leaf_of(QueueBook(1, tree), spec).user, "");
  EXPECT_EQ(leaf_of(QueueBook(), spec), (Leaf{*QueueBook().find(kDefaultQueue), ""}));
}

}  // namespace
}  // namespace muster::scheduler
