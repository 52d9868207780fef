// Goal: the counts of what waits in a queue follow the jobs through every move, array and change of
// the tree, and are the same again after a snapshot.

#include "scheduler/state/waiting_book.h"

#include <gtest/gtest.h>

#include "scheduler/state/state.h"
#include "tests/scheduler/state/cluster.h"

namespace muster::scheduler {
namespace {

using namespace testing;  // NOLINT: the verbs of a cluster

TEST(QueueTotals, CountUpTheTree) {
  QueueTotals totals;
  totals.add("a/b/c", 2);
  totals.add("a/b", 1);
  totals.add("ab", 4);
  totals.add("a/d", 0);
  const std::pair<const char*, std::uint64_t> rows[] = {{"a", 3},  {"a/b", 3}, {"a/b/c", 2},
                                                        {"ab", 4}, {"a/d", 0}, {"b", 0}};
  for (const auto& [path, count] : rows) {
    EXPECT_EQ(totals.of(path), count) << path;
  }
  totals.remove("a/b", 1);
  totals.remove("a/b/c", 2);
  totals.remove("ab", 4);
  EXPECT_EQ(totals, QueueTotals());
}

class WaitingTest : public ::testing::Test {
 protected:
  WaitingTest() {
    QueueTree tree;
    for (const char* path : {"a", "a/b", "a/c", "d"}) {
      tree.nodes.emplace_back();
      tree.nodes.back().path = path;
    }
    set_queues(tree, {});
  }

  void set_queues(const QueueTree& tree, const std::vector<QueueMove>& moves) {
    EXPECT_EQ(give(entry::SetQueues{state.queues().version(), tree, moves, "op"}), "");
  }
  /// Why it was rejected.
  std::string give(Entry entry) {
    index = index.next();
    result = state.apply(index, std::move(entry));
    state.check_everything();
    return result.rejected;
  }
  JobId submit(const std::string& queue, std::optional<ArrayRange> array = std::nullopt) {
    entry::Submit fact = submission("key" + std::to_string(++keys), 1);
    fact.spec.queue = queue;
    fact.spec.array = std::move(array);
    EXPECT_EQ(give(std::move(fact)), "");
    return result.job;
  }
  void expect(std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint64_t d) {
    EXPECT_EQ(state.waiting_in("a"), a);
    EXPECT_EQ(state.waiting_in("a/b"), b);
    EXPECT_EQ(state.waiting_in("a/c"), c);
    EXPECT_EQ(state.waiting_in("d"), d);
    const auto again = State::decode(state.encode());
    ASSERT_TRUE(again);
    again->check_everything();
    for (const char* path : {"a", "a/b", "a/c", "d"}) {
      EXPECT_EQ(again->waiting_in(path), state.waiting_in(path)) << path;
    }
  }

  State state;
  LogIndex index;
  ApplyResult result;
  int keys = 0;
};

TEST_F(WaitingTest, JobsWaitUntilTheyHaveAnAttemptOrEnd) {
  const JobId first = submit("a/b");
  const JobId second = submit("a/c");
  submit("d");
  expect(2, 1, 1, 1);
  EXPECT_EQ(give(entry::Suspend{first, "op"}), "");
  expect(2, 1, 1, 1);
  EXPECT_EQ(give(entry::Cancel{first, "op"}), "");
  expect(1, 0, 1, 1);
  give(registration(1, 8));
  give(entry::Decide{second, 1, {member_of(1, 0, 1)}, Duration(5), Duration(6), Duration(7)});
  EXPECT_EQ(result.rejected, "");
  expect(0, 0, 0, 1);
}

TEST_F(WaitingTest, TasksOfAnArrayWaitBeforeTheirTurn) {
  const JobId array = submit("a/b", ArrayRange{1, 10, 0});
  expect(10, 10, 0, 0);
  EXPECT_EQ(give(entry::Cancel{task_id(array, 4), {"op"}, 6}), "");
  expect(7, 7, 0, 0);
  EXPECT_EQ(give(entry::Cancel{array, "op"}), "");
  expect(0, 0, 0, 0);
}

TEST_F(WaitingTest, TheyMoveWithTheirQueue) {
  const JobId job = submit("a/b");
  submit("a/b", ArrayRange{1, 5, 0});
  expect(6, 6, 0, 0);
  entry::Edit edit;
  edit.job = job;
  edit.keeps_priority = true;
  edit.queue = "d";
  edit.by = {"op"};
  give(std::move(edit));
  EXPECT_EQ(result.rejected, "");
  expect(5, 5, 0, 1);
  QueueTree tree = state.queues().tree();
  tree.nodes.erase(tree.nodes.begin() + 1);
  set_queues(tree, {{"a/b", "a/c"}});
  expect(5, 0, 5, 1);
}

}  // namespace
}  // namespace muster::scheduler
