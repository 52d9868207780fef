// The shares of queues and users in a pool, as people see them.

#include "agent/front/share_model.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "agent/api/payload.h"
#include "tests/scheduler/state/cluster.h"

namespace muster::agent {
namespace {

using namespace std::chrono_literals;  // NOLINT: literals only.
using namespace scheduler;             // NOLINT: what the log says
using namespace scheduler::testing;    // NOLINT: the fixture's verbs

QueueNode queue_of_weight(const std::string& path, std::uint32_t weight) {
  QueueNode node;
  node.path = path;
  node.weight = weight;
  return node;
}

/// Eight H100. prod has the weight 1 and a max of 2, research the weight 3; the users of
/// research/line share one leaf.
class ShareModelTest : public ::testing::Test {
 protected:
  ShareModelTest() {
    log.apply(registration(1, 8));
    QueueTree tree;
    tree.nodes = {queue_of_weight("prod", 1), queue_of_weight("research", 3),
                  queue_of_weight("research/line", 1), queue_of_weight("research/nlp", 2)};
    tree.nodes[0].max = {{"h100", 2}};
    tree.nodes[1].guaranteed = {{"h100", 4}};
    tree.nodes[2].is_fifo = true;
    EXPECT_EQ(log.apply(entry::SetQueues{0, tree, {}, {}}).rejected, "");
  }
  entry::Submit job_of(const std::string& user, const std::string& queue, std::uint32_t gpus) {
    entry::Submit fact = submission("key" + std::to_string(++keys), gpus);
    fact.spec.user = user;
    fact.spec.queue = queue;
    return fact;
  }
  JobId submit(const std::string& user, const std::string& queue, std::uint32_t gpus) {
    const ApplyResult done = log.apply(job_of(user, queue, gpus));
    EXPECT_EQ(done.rejected, "");
    return done.job;
  }
  /// The job runs on GPUs of host 1 from `first_gpu` on.
  void run(const std::string& user, const std::string& queue, std::uint32_t gpus,
           std::uint32_t first_gpu) {
    log.run(submit(user, queue, gpus), {member_of(1, first_gpu, gpus)});
  }
  ShareList shares(const std::string& path = "") const {
    const Result<ShareList> list = share_list(
        log.state,
        [this](std::string_view pool) {
          return pool == "h100" && next != JobId() ? std::optional(next) : std::nullopt;
        },
        path, sight);
    EXPECT_TRUE(list.has_value());
    return list ? *list : ShareList();
  }
  /// With an empty pool if there is no such row.
  ShareInfo share(const std::string& path, const std::string& user = "") const {
    const std::vector<ShareInfo> rows = shares().shares;
    const auto found = std::find_if(rows.begin(), rows.end(), [&](const ShareInfo& row) {
      return row.path == path && row.user == user;
    });
    return found == rows.end() ? ShareInfo() : *found;
  }
  std::vector<std::string> rows(const std::string& path = "") const {
    std::vector<std::string> names;
    for (const ShareInfo& row : shares(path).shares) {
      names.push_back(row.path + (row.user.empty() ? "" : " " + row.user));
    }
    return names;
  }

  Log log;
  JobSight sight{log.state, log.state.directory(), ""};
  JobId next;
  std::uint64_t keys = 0;
};

TEST_F(ShareModelTest, RowsAreOfThoseThatHoldOrWait) {
  EXPECT_TRUE(rows().empty());
  run("ann", "research/nlp", 1, 0);
  run("bob", "research/nlp", 2, 1);
  submit("eve", "research/nlp", 1);
  submit("eve", "research/line", 1);
  EXPECT_EQ(rows(),
            (std::vector<std::string>{"research", "research/line", "research/nlp",
                                      "research/nlp bob", "research/nlp ann", "research/nlp eve"}))
      << "most held first, and no users of a queue that is one line";
  EXPECT_EQ(rows("research/line"), std::vector<std::string>{"research/line"});
  EXPECT_TRUE(rows("prod").empty());
}

TEST_F(ShareModelTest, AQueueThatThereIsNotIsNotFound) {
  for (const std::string path : {"resear", "research/nlp/x", "/"}) {
    const auto list = share_list(
        log.state, [](std::string_view) { return std::nullopt; }, path, sight);
    ASSERT_FALSE(list.has_value()) << path;
    EXPECT_EQ(list.error().code, ErrorCode::kNotFound);
    EXPECT_NE(list.error().text.find("'" + path + "'"), std::string::npos);
  }
}

TEST_F(ShareModelTest, HeldAndSizesAreOfThePool) {
  run("ann", "research/nlp", 2, 0);
  run("bob", "prod", 1, 2);
  const ShareInfo research = share("research");
  EXPECT_EQ(research.pool, "h100");
  EXPECT_EQ(research.pool_name, "H100");
  EXPECT_EQ(research.held, 2000U);
  EXPECT_EQ(research.pool_held, 3000U);
  EXPECT_EQ(research.pool_size, 8U);
  EXPECT_EQ(share("research/nlp", "ann").held, 2000U);
  EXPECT_EQ(share("prod").held, 1000U);
}

TEST_F(ShareModelTest, WhatIsNotGuaranteedIsBorrowed) {
  run("ann", "research/nlp", 3, 0);
  EXPECT_EQ(share("research").borrowed, 0U);
  EXPECT_EQ(share("research/nlp").borrowed, 3000U) << "research is guaranteed 4, nlp nothing";
  run("bob", "research/nlp", 2, 3);
  run("eve", "research/line", 1, 5);
  EXPECT_EQ(share("research").borrowed, 2000U) << "the job of 2 does not fit beside that of 3";
  EXPECT_EQ(share("research/line").borrowed, 1000U);
}

TEST_F(ShareModelTest, PartsAreByWeightsAmongThoseThatHoldOrWait) {
  submit("ann", "research/nlp", 1);
  EXPECT_EQ(share("research").part, 8000U) << "alone";
  EXPECT_EQ(share("research").weights, 3U);
  submit("bob", "prod", 1);
  EXPECT_EQ(share("research").part, 6000U);
  EXPECT_EQ(share("research").weight, 3U);
  EXPECT_EQ(share("research").weights, 4U);
  EXPECT_EQ(share("prod").part, 2000U);
  EXPECT_EQ(share("research/nlp").part, 6000U);
  submit("ann", "research/line", 1);
  EXPECT_EQ(share("research/nlp").part, 4000U);
  EXPECT_EQ(share("research/line").part, 2000U);
  submit("eve", "research/nlp", 1);
  EXPECT_EQ(share("research/nlp", "ann").part, 2000U);
  EXPECT_EQ(share("research/nlp", "eve").weights, 2U);
}

TEST_F(ShareModelTest, AQueueIsOwedUpToItsGuarantee) {
  submit("ann", "research/nlp", 1);
  EXPECT_TRUE(share("research").is_owed);
  EXPECT_FALSE(share("research/nlp").is_owed) << "it has no guarantee of its own";
  run("bob", "research/nlp", 4, 0);
  EXPECT_FALSE(share("research").is_owed);
}

TEST_F(ShareModelTest, AMaxThatKeepsTheSmallestJobOutIsNamed) {
  run("ann", "prod", 1, 0);
  submit("ann", "prod", 2);
  EXPECT_EQ(share("prod").at_max, "prod");
  EXPECT_EQ(share("prod", "ann").at_max, "prod");
  submit("bob", "prod", 1);
  EXPECT_EQ(share("prod").at_max, "") << "the smallest fits";
  EXPECT_EQ(share("prod", "ann").at_max, "prod");
  EXPECT_EQ(share("prod", "bob").at_max, "");
}

TEST_F(ShareModelTest, TheNextJobMarksItsQueuesAndItsUser) {
  submit("bob", "prod", 1);
  submit("ann", "research/nlp", 1);
  EXPECT_FALSE(share("research").is_next);
  next = submit("eve", "research/nlp", 1);
  EXPECT_TRUE(share("research").is_next);
  EXPECT_TRUE(share("research/nlp").is_next);
  EXPECT_TRUE(share("research/nlp", "eve").is_next);
  EXPECT_FALSE(share("research/nlp", "ann").is_next);
  EXPECT_FALSE(share("prod").is_next);
}

TEST_F(ShareModelTest, MeansAndCreditsSayWhatWasHeld) {
  run("ann", "research/nlp", 4, 0);
  submit("bob", "prod", 1);
  EXPECT_EQ(share("research").credit_permille, 1000U);
  EXPECT_EQ(share("research").mean_permille, 0U);
  for (int hour = 0; hour < 3; ++hour) {
    log.apply(entry::Tick{1h});
  }
  EXPECT_EQ(share("research").mean_permille, 1000U);
  EXPECT_EQ(share("research/nlp", "ann").mean_permille, 1000U);
  EXPECT_EQ(share("prod").mean_permille, 0U);
  EXPECT_EQ(share("prod").credit_permille, 2000U);
  EXPECT_LT(share("research").credit_permille, 1000U);
  EXPECT_GE(share("research").credit_permille, 500U);
  EXPECT_EQ(shares().half_life_ms, 7U * 24 * 3'600'000);
}

TEST_F(ShareModelTest, AQueueThatHeldSomethingKeepsItsRow) {
  const JobId job = submit("ann", "prod", 1);
  const Token token = log.run(job, {member_of(1, 0, 1)});
  log.apply(entry::Tick{1h});
  log.finish(token, member_of(1, 0, 1), 0);
  const ShareInfo prod = share("prod");
  EXPECT_EQ(prod.pool, "h100");
  EXPECT_EQ(prod.held, 0U);
  EXPECT_GT(prod.mean_permille, 0U);
  EXPECT_EQ(prod.pending, 0U);
  EXPECT_EQ(prod.weights, 1U) << "itself alone";
}

TEST_F(ShareModelTest, UsersOfOtherTeamsHaveNoRows) {
  run("ann", "research/nlp", 1, 0);
  run("otto", "research/nlp", 1, 1);
  Directory directory;
  directory.found({"root"}, LogIndex(1));
  DirectoryChange change;
  change.teams = {{"vision"}, {"speech"}};
  change.users = {{"ann", false, {}, {"vision"}, {}}, {"otto", false, {}, {"speech"}, {}}};
  change.hides_other_teams = true;
  ASSERT_TRUE(directory.change(change, LogIndex(2)));
  const auto list = share_list(
      log.state, [](std::string_view) { return std::nullopt; }, "research/nlp",
      JobSight(log.state, directory, "ann"));
  ASSERT_TRUE(list.has_value());
  ASSERT_EQ(list->shares.size(), 2U);
  EXPECT_EQ(list->shares[0].held, 2000U) << "sums are for everybody";
  EXPECT_EQ(list->shares[1].user, "ann");
}

TEST_F(ShareModelTest, OfManyUsersThoseThatHoldMostAreListed) {
  run("zoe", "research/nlp", 1, 0);
  std::uint64_t index = log.index().value();
  for (std::size_t i = 0; i < kUserSharesListedMax + 5; ++i) {
    log.state.apply(LogIndex(++index), job_of("user" + std::to_string(i), "research/nlp", 1));
  }
  const ShareList list = shares();
  EXPECT_EQ(list.shares.size(), 2 + kUserSharesListedMax);
  EXPECT_EQ(list.shares[2].user, "zoe");
  EXPECT_EQ(list.shares[1].pending, kUserSharesListedMax + 5) << "all of them";
  EXPECT_LT(encode_payload(list).size(), kSharesBytes);
}

}  // namespace
}  // namespace muster::agent
