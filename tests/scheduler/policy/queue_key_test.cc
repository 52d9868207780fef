// Which of two jobs is tried first.

#include "scheduler/policy/queue_key.h"

#include <gtest/gtest.h>

namespace muster::scheduler {
namespace {

TEST(QueueKey, HigherPriorityIsTriedFirstThenTheOlder) {
  const Queue queue = {{1, JobId(1)}, {5, JobId(2)}, {5, JobId(3)}};
  std::vector<std::uint64_t> order;
  for (const QueueKey& key : queue) {
    order.push_back(key.job.value());
  }
  EXPECT_EQ(order, (std::vector<std::uint64_t>{2, 3, 1}));
}

TEST(QueueKey, ATaskStandsWhereItsArrayDoes) {
  const JobId array(2);
  EXPECT_LT((QueueKey{0, JobId(1)}), (QueueKey{0, task_id(array, 0)}));
  EXPECT_LT((QueueKey{0, task_id(array, 0)}), (QueueKey{0, task_id(array, 1)}));
  EXPECT_LT((QueueKey{0, task_id(array, 1)}), (QueueKey{0, JobId(3)}));
}

}  // namespace
}  // namespace muster::scheduler
