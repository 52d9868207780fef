// Which queue, and which of its users, is next in a pool.

#include "scheduler/policy/share_order.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/scheduler/policy/queued_log.h"

namespace muster::scheduler {
namespace {

using namespace testing;               // NOLINT: the domain's verbs
using namespace std::chrono_literals;  // NOLINT

class ShareOrderTest : public ::testing::Test, protected QueuedLog {
 protected:
  ShareOrderTest() { apply(registration(1, 64)); }

  /// A job of that queue and user runs on so many GPUs.
  Token run(const std::string& queue, const std::string& user, std::uint32_t gpus) {
    const JobId job = submit(queue, user, gpus, Tier::kInference);
    EXPECT_NE(job, JobId());
    const ApplyResult result = decide(job, {member_of(1, used_, gpus)});
    EXPECT_EQ(result.rejected, "");
    used_ += gpus;
    return log.state.job(job)->life.current;
  }
  std::string next_of() const {
    const std::optional<JobId> job = pending.first_in("h100");
    return job.has_value() ? log.state.job(*job)->spec.queue + " " + log.state.job(*job)->spec.user
                           : "";
  }
  /// Queues and users, in the order in which all waiting jobs would be asked for.
  std::vector<std::string> order() {
    std::vector<std::string> order;
    std::vector<JobId> hidden;
    while (const std::optional<JobId> job = pending.first_in("h100")) {
      order.push_back(next_of());
      const std::uint64_t charge = log.state.job(*job)->spec.request.gpus * 1000;
      pending.hide(*job, "h100", charge);
      hidden.push_back(*job);
      EXPECT_TRUE(pending.is_right(log.state));
    }
    for (const JobId job : hidden) {
      pending.show(job);
    }
    EXPECT_TRUE(pending.is_right(log.state));
    return order;
  }

 private:
  std::uint32_t used_ = 0;
};

using Order = std::vector<std::string>;

TEST_F(ShareOrderTest, TheSmallestPartOfItsWeightIsNext) {
  set_queues({queue_node("a", 1), queue_node("b", 3)});
  for (int i = 0; i < 4; ++i) {
    submit("a", "ann", 1);
  }
  for (int i = 0; i < 4; ++i) {
    submit("b", "bob", 1);
  }
  // 0/1 and 0/3: the path decides; 1/1 and 0/3; 1/1 and 1/3; 1/1 and 2/3; 1/1 and 3/3: the path.
  EXPECT_EQ(order(),
            (Order{"a ann", "b bob", "b bob", "b bob", "a ann", "b bob", "a ann", "a ann"}));
}

TEST_F(ShareOrderTest, AHigherTierGoesBeforeASmallerPart) {
  set_queues({queue_node("a"), queue_node("b")});
  run("b", "bob", 8);
  submit("a", "ann", 1);
  EXPECT_EQ(next_of(), "a ann");
  submit("b", "bob", 1, Tier::kPremium);
  EXPECT_EQ(next_of(), "b bob");
}

TEST_F(ShareOrderTest, AGuaranteeGoesBeforeTheTier) {
  QueueNode owed = queue_node("a");
  owed.guaranteed = {{"h100", 4}};
  set_queues({owed, queue_node("b")});
  const JobId large = submit("a", "ann", 5, Tier::kBatch);
  submit("b", "bob", 1, Tier::kPremium);
  EXPECT_EQ(next_of(), "b bob") << "five are beyond the guarantee";
  apply(entry::Cancel{large, "ann"});
  submit("a", "ann", 4, Tier::kBatch);
  EXPECT_EQ(next_of(), "a ann");
  run("a", "zoe", 1);
  EXPECT_EQ(next_of(), "b bob") << "only three are left of it";
  EXPECT_TRUE(pending.is_right(log.state));
}

TEST_F(ShareOrderTest, AGuaranteeOfAllTypesCountsInEach) {
  apply(registration(2, 8, 1, "A100"));
  QueueNode owed = queue_node("b");
  owed.guaranteed = {{"gpus", 4}};
  set_queues({queue_node("a"), owed});
  submit("a", "ann", 1);
  submit("b", "bob", 2);
  EXPECT_EQ(next_of(), "b bob");
  JobSpec other = spec_of(3);
  other.request.gpu_types = {"A100"};
  other.queue = "b";
  other.user = "bob";
  other.tier = Tier::kPremium;
  const JobId elsewhere = submit(other);
  pending.hide(elsewhere, "a100", 3000);
  EXPECT_EQ(next_of(), "a ann") << "what was asked for of the other type counts";
  EXPECT_TRUE(pending.is_right(log.state));
  pending.show(elsewhere);
  EXPECT_EQ(next_of(), "b bob");
}

TEST_F(ShareOrderTest, AQueueAtItsMaxLetsOthersGoOn) {
  QueueNode parent = queue_node("a");
  parent.max = {{"h100", 6}};
  set_queues({parent, queue_node("a/x"), queue_node("a/y"), queue_node("b")});
  const Token token = run("a/x", "ann", 4);
  submit("a/y", "ann", 3);
  submit("a/y", "ann", 1);
  submit("b", "bob", 8);
  EXPECT_EQ(order(), (Order{"b bob"})) << "the queue is strict: the small job waits behind";
  apply(entry::Abort{token, Cause::kCancelled, HostId()});
  EXPECT_EQ(next_of(), "a/y ann");
  EXPECT_TRUE(pending.is_right(log.state));
}

TEST_F(ShareOrderTest, AJobAboveAMaxOfAnEmptyQueueIsPassed) {
  set_queues({queue_node("a")});
  submit("a", "ann", 8);
  submit("a", "ann", 2);
  QueueNode small = queue_node("a");
  small.max = {{"gpus", 4}};
  set_queues({small});
  EXPECT_EQ(pending.first_in("h100"), JobId(2));
  EXPECT_TRUE(pending.is_right(log.state));
  set_queues({queue_node("a")});
  EXPECT_EQ(pending.first_in("h100"), JobId(1));
}

TEST_F(ShareOrderTest, UsersOfAQueueTakeTurnsUnlessItIsFifo) {
  QueueNode fifo = queue_node("b");
  fifo.is_fifo = true;
  set_queues({queue_node("a"), fifo});
  for (const char* queue : {"a", "b"}) {
    submit(queue, "ann", 1);
    submit(queue, "ann", 1);
    submit(queue, "bob", 1);
  }
  EXPECT_EQ(order(), (Order{"a ann", "b ann", "a bob", "b ann", "a ann", "b bob"}));
}

TEST_F(ShareOrderTest, CreditOfThePastCounts) {
  set_queues({queue_node("a"), queue_node("b")});
  const Token token = run("a", "ann", 8);
  run("b", "bob", 1);
  for (int i = 0; i < 60; ++i) {
    apply(entry::Tick{1min});
  }
  apply(entry::Abort{token, Cause::kCancelled, HostId()});
  run("a", "ann", 1);
  submit("a", "ann", 1);
  submit("b", "bob", 1);
  EXPECT_EQ(next_of(), "b bob") << "both hold one, and a has had more";
  EXPECT_TRUE(pending.is_right(log.state));
  submit("b", "zoe", 1);
  EXPECT_EQ(next_of(), "b zoe") << "of two users the one that has had nothing";
}

TEST_F(ShareOrderTest, APoolOfALaterTypeKnowsWhatWasAskedFor) {
  QueueNode small = queue_node("a");
  small.max = {{"gpus", 4}};
  set_queues({small});
  const JobId asked = submit("a", "ann", 3);
  submit("a", "bob", 2);
  pending.hide(asked, "h100", 3000);
  apply(registration(2, 8, 1, "A100"));
  EXPECT_EQ(pending.first_in("a100"), std::nullopt) << "one GPU is left";
  EXPECT_TRUE(pending.is_right(log.state));
  pending.show(asked);
  EXPECT_NE(pending.first_in("a100"), std::nullopt);
}

}  // namespace
}  // namespace muster::scheduler
