// Shares: what is held adds up along the paths of the tree, means follow what is held with their
// half-life, credits follow means, and a max leaves the room that it says.

#include "scheduler/state/share_book.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "gossip/base/rng.h"
#include "scheduler/state/charge.h"

namespace muster::scheduler {
namespace {

using namespace std::chrono_literals;  // NOLINT: literals only.

QueueNode node_of(std::string path, std::uint32_t weight = 1) {
  QueueNode node;
  node.path = std::move(path);
  node.weight = weight;
  return node;
}

/// default; lab with lab/one and lab/two; prod, of weight 3.
QueueTree some_tree() {
  QueueTree tree;
  tree.half_life = 1h;
  tree.nodes = {node_of("lab"), node_of("lab/one"), node_of("lab/two"), node_of("prod", 3)};
  return tree;
}

std::string unmoved(const std::string& path) {
  return path;
}

class Shares : public ::testing::Test {
 protected:
  QueueNumber number(std::string_view path) const { return queues.number_of(path); }
  std::uint64_t held(std::string_view path, std::string_view pool = "h100") const {
    return shares.share(number(path), pool).held;
  }
  void add(const std::string& queue, std::uint64_t charge, const std::string& pool = "h100",
           const std::string& user = "ann") {
    shares.add(queues, shares.settled(queues, {queue, user, pool}), charge);
  }
  void pass(Duration time) {
    now += time;
    shares.sample(queues, now);
  }

  QueueBook queues{1, some_tree()};
  ShareBook shares;
  Duration now{0};
};

TEST_F(Shares, HeldAddsUpAlongThePath) {
  add("lab/one", 4'000);
  add("lab/two", 1'500, "a100");
  add("prod", 2'000);
  add("lab/one", 3'000, std::string(kCpuPool));
  EXPECT_EQ(held("lab/one"), 4'000U);
  EXPECT_EQ(held("lab"), 4'000U);
  EXPECT_EQ(held("lab", "a100"), 1'500U);
  EXPECT_EQ(shares.share(kRootQueue, "h100").held, 6'000U);
  EXPECT_EQ(shares.share(number("lab/one"), "ann", "h100").held, 4'000U);
  EXPECT_EQ(shares.share(number("lab/one"), "bob", "h100"), Share());
  EXPECT_EQ(shares.share(number("lab/one"), "mi300"), Share());
  EXPECT_EQ(shares.held_gpus(number("lab")), 5'500U) << "of all types, without CPUs";
  EXPECT_EQ(shares.held_gpus(kRootQueue), 7'500U);
}

TEST_F(Shares, WhatWasNeverSampledLeavesNothingBehind) {
  add("lab/one", 4'000);
  shares.remove(queues, {"lab/one", "ann", "h100"}, 4'000);
  EXPECT_EQ(shares, ShareBook());
}

TEST_F(Shares, AnUnknownQueueIsTheDefault) {
  add("gone", 1'000);
  EXPECT_EQ(held("default"), 1'000U);
}

/// Against the formula, in floating point.
TEST(ShareMean, FollowsWhatIsHeldWithItsHalfLife) {
  for (const Duration half_life : {Duration(1h), Duration(24h), Duration(24h * 7)}) {
    constexpr std::uint64_t kHeld = 8'000;
    std::uint64_t mean = 0;
    const auto minutes = half_life / 1min;
    for (std::int64_t i = 0; i < minutes; ++i) {
      mean = mean_after_minute(mean, kHeld, half_life);
    }
    const double half = static_cast<double>(kHeld << kMeanBits) / 2;
    EXPECT_NEAR(static_cast<double>(mean), half, half / 1'000);
    for (std::int64_t i = 0; i < minutes; ++i) {
      mean = mean_after_minute(mean, 0, half_life);
    }
    EXPECT_NEAR(static_cast<double>(mean), half / 2, half / 1'000);
  }
}

TEST(ShareMean, ReachesWhatIsHeldAndNeverPassesIt) {
  Rng rng(7);
  for (int i = 0; i < 2'000; ++i) {
    const std::uint64_t held = rng.below(2) == 0 ? 0 : rng.below(1'000'000'000);
    const std::uint64_t target = held << kMeanBits;
    const std::uint64_t mean =
        rng.below(2) == 0 ? rng.below(100) : rng.below(std::uint64_t{1} << 50);
    const std::uint64_t next = mean_after_minute(mean, held, kHalfLifeMax);
    if (mean == target) {
      EXPECT_EQ(next, target);
    } else if (mean < target) {
      EXPECT_TRUE(mean < next && next <= target) << mean << " " << held;
    } else {
      EXPECT_TRUE(target <= next && next < mean) << mean << " " << held;
    }
  }
}

struct CreditCase {
  const char* what;
  std::uint64_t mean, weight, means, weights, total;
  std::uint32_t credit;
};

constexpr CreditCase kCreditCases[] = {
    {"nobody had anything", 0, 1, 0, 4, 900, 1024},
    {"exactly its part", 50, 1, 100, 2, 100, 1024},
    {"its part by weight", 75, 3, 100, 4, 100, 1024},
    {"nothing: at most the double", 0, 1, 100, 2, 100, 2048},
    {"everything of two: at least the half", 100, 1, 100, 2, 100, 514},
    {"everything of three", 100, 1, 100, 3, 100, 512},
    {"a quarter more than its part: 50.5 / 63", 625, 1, 1000, 2, 1000, 820},
};

TEST(ShareCredit, IsThePartDueOverThePartHad) {
  for (const CreditCase& each : kCreditCases) {
    // The one percent is of the whole pool, in parts of the weight.
    const std::uint32_t credit =
        credit_of(each.mean, each.weight, each.means, each.weights, each.total);
    EXPECT_NEAR(credit, each.credit, 2) << each.what;
  }
  EXPECT_EQ(credit_of(std::uint64_t{1} << 60, kQueueWeightMax, std::uint64_t{1} << 60,
                      kQueueWeightMax, std::uint64_t{1} << 60),
            kCreditOne)
      << "the largest numbers do not overflow";
}

TEST_F(Shares, ASiblingThatHadLessHasMoreCredit) {
  add("lab/one", 4'000, "h100", "ann");
  add("lab/two", 1'000, "h100", "bob");
  add("lab/two", 3'000, "h100", "eve");
  EXPECT_FALSE(shares.sample(queues, 59s));
  EXPECT_EQ(shares.share(number("lab/one"), "h100").credit, kCreditOne);
  EXPECT_TRUE(shares.sample(queues, 60s));
  EXPECT_EQ(shares.sampled_at(), 60s);
  EXPECT_EQ(shares.share(number("lab/one"), "h100").credit, kCreditOne);
  EXPECT_LT(shares.share(number("lab"), "h100").credit, kCreditOne)
      << "prod and default had nothing";
  EXPECT_EQ(shares.share(number("prod"), "h100").credit, kCreditMax);
  EXPECT_GT(shares.share(number("lab/two"), "bob", "h100").credit, kCreditOne);
  EXPECT_LT(shares.share(number("lab/two"), "eve", "h100").credit, kCreditOne);
}

TEST_F(Shares, OneLateSampleIsManyInTime) {
  add("lab/one", 4'000);
  add("prod", 1'000, "h100", "bob");
  ShareBook late = shares;
  for (int minute = 0; minute < 61; ++minute) {
    pass(1min);
  }
  EXPECT_TRUE(late.sample(queues, now));
  EXPECT_EQ(late, shares);
}

TEST_F(Shares, AUserWhoHoldsNothingIsForgottenAtLast) {
  add("lab/one", 1'000);
  pass(1min);
  shares.remove(queues, {"lab/one", "ann", "h100"}, 1'000);
  EXPECT_NE(shares.share(number("lab/one"), "ann", "h100").mean, 0U);
  pass(60h);
  EXPECT_TRUE(shares.pools().empty());
  EXPECT_FALSE(shares.sample(queues, now + 1h)) << "nothing is left to change";
}

TEST(ShareBookBefore, NobodySetsQueuesThereAreNoMeans) {
  const QueueBook queues;
  ShareBook shares;
  shares.add(queues, {"default", "", "h100"}, 1'000);
  EXPECT_FALSE(shares.sample(queues, 90s));
  EXPECT_EQ(shares.sampled_at(), 60s);
  EXPECT_EQ(shares.share(queues.number_of("default"), "h100"), (Share{1'000, 0, kCreditOne}));
}

TEST_F(Shares, PoolsAndUsersBeyondTheirNumberShareOne) {
  for (std::size_t i = 0; i < kPoolsMax; ++i) {
    add("prod", 1'000, "type" + std::to_string(i));
  }
  EXPECT_EQ(shares.settled(queues, {"prod", "ann", "more"}).pool, kOtherPool);
  EXPECT_EQ(shares.settled(queues, {"prod", "ann", "type3"}).pool, "type3");
  EXPECT_EQ(shares.settled(queues, {"prod", "ann", std::string(kCpuPool)}).pool, kCpuPool);
  for (std::size_t i = kPoolsMax; i < kUserSharesMax; ++i) {
    add("lab/one", 1, "type0", "user" + std::to_string(i));
  }
  EXPECT_EQ(shares.settled(queues, {"lab/one", "zoe", "type0"}).user, kOtherUsers);
  EXPECT_EQ(shares.settled(queues, {"lab/one", "user99", "type0"}).user, "user99");
  EXPECT_EQ(shares.settled(queues, {"lab/two", "user99", "type0"}).user, kOtherUsers);
  EXPECT_EQ(shares.settled(queues, {"lab/two", "", "type0"}).user, "");
}

TEST_F(Shares, RoomIsTheLeastOfThePath) {
  QueueTree tree = some_tree();
  tree.nodes[0].max = {{"gpus", 10}};              // lab
  tree.nodes[1].max = {{"h100", 8}, {"cpus", 2}};  // lab/one
  queues = QueueBook(1, tree);
  QueueNumber at = kRootQueue;
  const auto room = [&](std::string_view path, std::string_view pool) {
    return shares.room(queues, number(path), pool, &at);
  };
  EXPECT_EQ(room("prod", "h100"), UINT64_MAX);
  EXPECT_EQ(room("lab/one", "h100"), 8'000U);
  EXPECT_EQ(at, number("lab/one"));
  EXPECT_EQ(room("lab/one", "a100"), 10'000U);
  EXPECT_EQ(at, number("lab"));
  EXPECT_EQ(room("lab/one", kCpuPool), 2'000U);
  EXPECT_EQ(room("lab/two", kCpuPool), UINT64_MAX) << "CPUs are no GPUs";
  add("lab/two", 7'000, "a100");
  EXPECT_EQ(room("lab/one", "h100"), 3'000U) << "lab has ten of all types";
  EXPECT_EQ(at, number("lab"));
  add("lab/two", 7'000, "a100");
  EXPECT_EQ(room("lab/one", "h100"), 0U) << "a max below what is held leaves none";
}

TEST_F(Shares, AQueueIsOwedUpToItsGuarantee) {
  QueueTree tree = some_tree();
  tree.nodes[1].guaranteed = {{"h100", 4}};
  tree.nodes[3].guaranteed = {{"gpus", 2}};
  queues = QueueBook(1, tree);
  EXPECT_TRUE(shares.is_owed(queues, number("lab/one"), "h100", 4'000));
  EXPECT_FALSE(shares.is_owed(queues, number("lab/one"), "h100", 4'001));
  EXPECT_TRUE(shares.is_owed(queues, number("lab"), "h100", 4'000)) << "the sum of its children";
  EXPECT_FALSE(shares.is_owed(queues, number("lab/two"), "h100", 1'000));
  EXPECT_TRUE(shares.is_owed(queues, number("prod"), "a100", 2'000)) << "GPUs of any type";
  EXPECT_FALSE(shares.is_owed(queues, number("prod"), kCpuPool, 1'000));
  add("lab/one", 3'000);
  EXPECT_FALSE(shares.is_owed(queues, number("lab/one"), "h100", 2'000));
  EXPECT_TRUE(shares.is_owed(queues, number("lab/one"), "h100", 1'000));
}

TEST_F(Shares, MeansGoWhereTheirQueuesGo) {
  add("lab/one", 4'000, "h100", "ann");
  add("lab/two", 2'000, "h100", "ann");
  add("prod", 1'000, "h100", "bob");
  pass(1h);
  const std::uint64_t one = shares.share(number("lab/one"), "h100").mean;
  const std::uint64_t two = shares.share(number("lab/two"), "h100").mean;
  const std::uint64_t prod = shares.share(number("prod"), "h100").mean;
  QueueTree tree;
  tree.nodes = {node_of("lab"), node_of("lab/three"), node_of("prod")};
  const QueueBook after(2, tree);
  shares.retell(queues, after, [](const std::string& path) {
    return path == "lab/one" ? std::string("prod") : path;
  });
  const auto mean = [&](std::string_view path) {
    return shares.share(*after.find(path), "h100").mean;
  };
  EXPECT_EQ(mean("prod"), prod + one) << "moved";
  EXPECT_EQ(mean("lab"), two) << "lab/two went, and nobody said where";
  EXPECT_EQ(mean("lab/three"), 0U);
  EXPECT_EQ(shares.share(kRootQueue, "h100").mean, one + two + prod);
  EXPECT_EQ(shares.share(*after.find("prod"), "ann", "h100").mean, one);
  EXPECT_EQ(shares.share(*after.find("prod"), "bob", "h100").mean, prod);
  EXPECT_EQ(shares.share(kRootQueue, "h100").held, 0U);
  EXPECT_EQ(shares.held_gpus(kRootQueue), 0U);
  EXPECT_LT(shares.share(*after.find("prod"), "h100").credit,
            shares.share(*after.find("lab"), "h100").credit);
}

/// Random holders, samples and trees: the book is what its means and a recount make.
TEST(ShareBookLaw, IsItsMeansAndTheSumOfWhatIsHeld) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Rng rng(seed);
    QueueBook queues(1, some_tree());
    ShareBook shares;
    std::vector<std::pair<AttemptShare, std::uint64_t>> holders;
    static constexpr const char* kPaths[] = {"lab/one", "lab/two", "prod", "default"};
    static constexpr const char* kUsers[] = {"ann", "bob", ""};
    Duration now{0};
    for (int i = 0; i < 300; ++i) {
      const std::uint64_t draw = rng.below(10);
      if (draw < 4) {
        const AttemptShare share =
            shares.settled(queues, {kPaths[rng.below(4)], kUsers[rng.below(3)],
                                    rng.below(3) == 0 ? std::string(kCpuPool) : "h100"});
        holders.emplace_back(share, 1 + rng.below(9'000));
        shares.add(queues, holders.back().first, holders.back().second);
      } else if (draw < 8 && !holders.empty()) {
        std::swap(holders[rng.below(holders.size())], holders.back());
        shares.remove(queues, holders.back().first, holders.back().second);
        holders.pop_back();
      } else if (draw == 8) {
        now += 1s * static_cast<std::int64_t>(rng.below(rng.below(5) == 0 ? 400'000 : 100));
        shares.sample(queues, now);
      } else if (rng.below(4) == 0) {
        const QueueBook before = queues;
        QueueTree tree = some_tree();
        tree.nodes[3].weight = static_cast<std::uint32_t>(1 + rng.below(5));
        queues = QueueBook(before.version() + 1, tree);
        shares.retell(before, queues, unmoved);
        for (const auto& [share, charge] : holders) {
          shares.add(queues, share, charge);
        }
      }
      ShareBook recounted(shares.pools(), shares.sampled_at());
      for (const auto& [share, charge] : holders) {
        recounted.add(queues, share, charge);
      }
      ASSERT_EQ(recounted, shares) << "seed " << seed << " step " << i;
    }
  }
}

}  // namespace
}  // namespace muster::scheduler
