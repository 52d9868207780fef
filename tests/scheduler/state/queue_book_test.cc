// The tree as the log has it: numbers, parents that were left out, the queue default, and what a
// queue inherits.

#include "scheduler/state/queue_book.h"

#include <gtest/gtest.h>

#include "gossip/base/nearest_text.h"

namespace muster::scheduler {
namespace {

using namespace std::chrono_literals;  // NOLINT: literals only.

QueueNode book_node(const std::string& path) {
  QueueNode node;
  node.path = path;
  return node;
}

std::vector<std::string> paths_of(const QueueBook& queues) {
  std::vector<std::string> paths;
  for (const QueueRecord& queue : queues.all()) {
    paths.push_back(queue.node.path);
  }
  return paths;
}

TEST(QueueBook, BeforeAnybodySetsQueuesThereIsOneLineOfJobs) {
  const QueueBook queues;
  EXPECT_FALSE(queues.is_set());
  EXPECT_EQ(paths_of(queues), (std::vector<std::string>{"", "default"}));
  const QueueNumber number = queues.number_of("default");
  EXPECT_TRUE(queues.at(number).node.is_fifo);
  EXPECT_TRUE(queues.at(number).is_leaf());
  EXPECT_EQ(queues.tiers(number).front(), Tier::kStandard);
  EXPECT_EQ(queues.tiers(number).size(), 5U);
  EXPECT_TRUE(queues.members(number).empty());
}

TEST(QueueBook, ParentsAndTheQueueDefaultAreThere) {
  const QueueBook queues(3, {kHalfLifeMin, {book_node("a/b/c"), book_node("x")}});
  EXPECT_EQ(queues.version(), 3U);
  EXPECT_EQ(paths_of(queues), (std::vector<std::string>{"", "a", "a/b", "a/b/c", "default", "x"}));
  EXPECT_FALSE(queues.at(*queues.find("default")).node.is_fifo);
  EXPECT_FALSE(queues.at(*queues.find("a/b")).is_leaf());
  EXPECT_EQ(queues.at(*queues.find("a/b/c")).parent, *queues.find("a/b"));
  EXPECT_EQ(queues.at(kRootQueue).children.size(), 3U);
  for (std::uint32_t i = 1; i < queues.all().size(); ++i) {
    EXPECT_LT(index_of(queues.all()[i].parent), i);
  }
  EXPECT_EQ(queues.find(""), std::nullopt) << "the root has no path";
  EXPECT_EQ(queues.find("a/c"), std::nullopt);
  EXPECT_EQ(queues.number_of("a/c"), *queues.find("default"));
  EXPECT_EQ(queues.tree().nodes.size(), 2U) << "as its owners wrote it";
}

TEST(QueueBook, AQueueInheritsWhatItDoesNotSay) {
  QueueNode top = book_node("a");
  top.tiers = {Tier::kBatch, Tier::kPremium};
  top.members = {"@vision"};
  top.time_limit_max = 5h;
  QueueNode below = book_node("a/b");
  below.members = {"ann"};
  below.guaranteed = {{"h100", 3}};
  const QueueBook queues(1, {kHalfLifeDefault, {top, below, book_node("a/b/c"), book_node("d")}});
  const QueueNumber c = *queues.find("a/b/c");
  EXPECT_EQ(queues.tiers(c), top.tiers);
  EXPECT_EQ(queues.members(c), below.members);
  EXPECT_EQ(queues.members(*queues.find("a")), top.members);
  EXPECT_EQ(queues.time_limit_max(c), 5h);
  EXPECT_EQ(queues.at(*queues.find("a")).guaranteed, below.guaranteed);
  const QueueNumber d = *queues.find("d");
  EXPECT_TRUE(queues.members(d).empty());
  EXPECT_EQ(queues.time_limit_max(d), std::nullopt);
  EXPECT_EQ(queues.tiers(d).front(), Tier::kStandard);
}

TEST(NearestText, IsTheOneOfTheFewestChanges) {
  EXPECT_EQ(edit_distance("kitten", "sitting", 99), 3U);
  EXPECT_EQ(edit_distance("kitten", "sitting", 3), 3U);
  EXPECT_EQ(edit_distance("kitten", "sitting", 2), 2U) << "the limit";
  EXPECT_EQ(edit_distance("", "abc", 99), 3U);
  EXPECT_EQ(edit_distance("abc", "abc", 99), 0U);
  EXPECT_EQ(nearest_text("reserch", {"serving", "research", "default"}), "research");
  EXPECT_EQ(nearest_text("x", {"ab", "cd"}), "ab") << "the first of equals";
  EXPECT_EQ(nearest_text("x", {}), "");
}

}  // namespace
}  // namespace muster::scheduler
