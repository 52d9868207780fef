// Any changes of the tree of queues, among submits and attempts: no job is left without a queue,
// and voters agree whatever snapshot they began from.

#include <optional>

#include <gtest/gtest.h>

#include "gossip/base/rng.h"
#include "tests/scheduler/state/cluster.h"

namespace muster::scheduler {
namespace {

using namespace testing;  // NOLINT: the fixture's verbs

/// Trees, moves, submits and attempts as they come.
class QueueStory {
 public:
  explicit QueueStory(std::uint64_t seed) : rng_(seed) { log.apply(registration(1, 8)); }

  Entry next() {
    switch (rng_.below(6)) {
      case 0:
      case 1:
        return another_tree();
      case 2:
        return entry::Tick{std::chrono::seconds(1 + rng_.below(90))};
      default:
        return another_job();
    }
  }
  void run(JobId job) {
    const std::vector<std::string> free = log.state.free_gpus(log.state.hosts().begin()->second);
    if (!free.empty() && rng_.below(3) == 0) {
      Member member = member_of(1, 0, 1);
      member.gpus[0].uuid = free.front();
      log.run(job, {member});
    }
  }
  void check() const {
    const QueueBook& queues = log.state.queues();
    for (const auto& [id, job] : log.state.jobs()) {
      const auto leaf = queues.find(job.spec.queue);
      ASSERT_TRUE(leaf.has_value() && queues.at(*leaf).is_leaf()) << job.spec.queue;
    }
  }

  Log log;

 private:
  Entry another_tree() {
    entry::SetQueues fact;
    fact.expected = log.state.queues().version();
    for (const char* path : {"a", "a/b", "a/c", "d", "d/e/f", "g"}) {
      if (rng_.below(2) == 0) {
        fact.tree.nodes.emplace_back().path = path;
        fact.tree.nodes.back().is_fifo = rng_.below(2) == 0;
        if (path != std::string_view("a")) {
          fact.tree.nodes.back().guaranteed = {
              {rng_.below(3) == 0 ? "gpus" : "h100", rng_.below(4)}};
        }
      }
    }
    const QueueBook after(1, fact.tree);
    for (const QueueRecord& queue : log.state.queues().all()) {
      const std::string& path = queue.node.path;
      const auto there = after.find(path);
      const bool stays = there.has_value() && after.at(*there).is_leaf();
      if (!path.empty() && !stays && rng_.below(4) != 0) {
        const bool has_g = after.find("g").has_value();
        fact.moves.push_back({path, has_g ? "g" : "default"});
      }
    }
    return fact;
  }
  Entry another_job() {
    const auto& all = log.state.queues().all();
    entry::Submit fact = submission("key" + std::to_string(log.index().value()), 1);
    fact.spec.user = rng_.below(2) == 0 ? "ann" : "bob";
    fact.spec.queue = all[rng_.below(all.size())].node.path;
    return fact;
  }

  Rng rng_;
};

/// No job is left without a leaf; what is held is what the attempts hold (check_everything, in
/// Log); and the state of a snapshot goes on in the same way.
TEST(QueueHistory, AnyChangesOfTheTreeKeepEveryJobInALeaf) {
  constexpr int kSteps = 120;
  std::uint64_t changed = 0;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    QueueStory story(seed);
    std::optional<State> copy;
    for (int i = 0; i < kSteps && !::testing::Test::HasFatalFailure(); ++i) {
      const Entry entry = story.next();
      const ApplyResult result = story.log.apply(entry);
      changed += result.queues_changed ? 1 : 0;
      story.check();
      if (copy.has_value()) {
        ASSERT_EQ(copy->apply(story.log.index(), entry).rejected, result.rejected);
        ASSERT_EQ(copy->encode(), story.log.state.encode());
      } else if (result.job != JobId()) {
        story.run(result.job);
      }
      if (i == kSteps / 2) {
        Result<State> read = State::decode(story.log.state.encode());
        ASSERT_TRUE(read.has_value()) << read.error().text;
        copy = std::move(read).value();
      }
    }
  }
  EXPECT_GT(changed, 200U) << "the histories are not hollow";
}

}  // namespace
}  // namespace muster::scheduler
