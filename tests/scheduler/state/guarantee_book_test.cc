// Guarantees: which attempts are covered by which queues of their paths, also when attempts come,
// shrink and go in any order, and when the tree changes.

#include "scheduler/state/guarantee_book.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "gossip/base/rng.h"
#include "tests/scheduler/state/guaranteed_queues.h"

namespace muster::scheduler {
namespace {

using namespace testing;  // NOLINT: the fixture's verbs

/// lab is guaranteed 12 H100: lab/one 8 of them, lab/two none; prod has 16 GPUs of any type.
QueueTree tree_of_guarantees() {
  QueueTree tree;
  tree.nodes = {queue_of("lab", {{"h100", 12}}), queue_of("lab/one", {{"h100", 8}}),
                queue_of("lab/two", {}), queue_of("prod", {{"gpus", 16}})};
  return tree;
}

class Guarantees : public ::testing::Test {
 protected:
  void add(std::uint64_t index, std::string_view path, std::uint64_t gpus,
           const std::string& pool = "h100") {
    book.add(token_of(index), queues.number_of(path), pool, gpus * kOne);
  }
  void remove(std::uint64_t index, std::uint64_t gpus) {
    book.remove(token_of(index), gpus * kOne);
  }
  /// The depths at which it is guaranteed, the top first: "0 1".
  std::string at(std::uint64_t index) const {
    std::string text;
    for (std::size_t depth = 0; depth < kQueueDepthMax; ++depth) {
      if (book.cover(token_of(index)).is_at(depth)) {
        text += (text.empty() ? "" : " ") + std::to_string(depth);
      }
    }
    return text;
  }

  QueueBook queues{1, tree_of_guarantees()};
  GuaranteeBook book{queues};
};

TEST_F(Guarantees, NobodyIsGuaranteedBeforeQueuesAreSet) {
  GuaranteeBook none;
  none.add(token_of(1), QueueBook().number_of(kDefaultQueue), "h100", kOne);
  EXPECT_TRUE(none.cover(token_of(1)).is_none());
  EXPECT_FALSE(none.is_owed(kRootQueue, "h100", kOne));
}

TEST_F(Guarantees, ItReachesUpThePath) {
  add(1, "lab/one", 8);
  EXPECT_EQ(at(1), "0 1");
  add(2, "lab/two", 4);
  EXPECT_EQ(at(2), "0") << "by the lab, which has 4 beside those of lab/one";
  add(3, "lab/two", 1);
  EXPECT_EQ(at(3), "") << "it borrows";
}

TEST_F(Guarantees, OneThatDoesNotFitWholeBorrows) {
  add(1, "lab/one", 9);
  EXPECT_EQ(at(1), "0");
  add(2, "lab/one", 4);
  EXPECT_EQ(at(2), "0 1") << "it fits in lab/one, whose own guarantee comes first in the lab";
  EXPECT_EQ(at(1), "");
}

TEST_F(Guarantees, AQueueBelowTakesItsOwnBack) {
  add(1, "lab/two", 6);
  add(2, "lab/two", 6);
  EXPECT_EQ(at(1) + "," + at(2), "0,0");
  add(3, "lab/one", 8);
  EXPECT_EQ(at(3), "0 1");
  EXPECT_EQ(at(1) + "," + at(2), ",") << "only 4 are left, and each of them has 6";
  add(4, "lab/two", 4);
  EXPECT_EQ(at(4), "0");
  remove(3, 8);
  EXPECT_EQ(at(1) + "," + at(2), "0,") << "the oldest first";
}

TEST_F(Guarantees, OneThatIsGuaranteedStaysSo) {
  add(1, "lab/one", 9);
  add(2, "lab/one", 8);
  EXPECT_EQ(at(2), "0 1");
  remove(1, 1);
  EXPECT_EQ(at(1), "") << "it is older and would fit now, but 2 is guaranteed already";
  remove(2, 8);
  EXPECT_EQ(at(1), "0 1");
}

TEST_F(Guarantees, GpusOfAnyTypeShareOneAccount) {
  add(1, "prod", 8, "a100");
  add(2, "prod", 8, "h100");
  add(3, "prod", 1, "h100");
  EXPECT_EQ(at(1) + "," + at(2) + "," + at(3), "0,0,");
  EXPECT_FALSE(book.is_owed(queues.number_of("prod"), "h100", kOne));
  remove(1, 2);
  EXPECT_EQ(at(3), "0");
  EXPECT_TRUE(book.is_owed(queues.number_of("prod"), "l4", kOne));
  EXPECT_FALSE(book.is_owed(queues.number_of("prod"), std::string(kCpuPool), kOne));
  EXPECT_EQ(book.claimed(queues.number_of("prod"), kAllGpus), 15 * kOne);
}

TEST_F(Guarantees, ATypeWithTheNameOfAnotherKeyHasNoAccountOfItsOwn) {
  add(1, "prod", 8, std::string(kAllGpus));
  EXPECT_EQ(book.claimed(queues.number_of("prod"), kAllGpus), 8 * kOne) << "counted once";
  add(2, "prod", 8, std::string(kCpus));
  EXPECT_EQ(at(1) + at(2), "00");
  remove(1, 8);
  remove(2, 8);
  EXPECT_EQ(book, GuaranteeBook(queues));
}

TEST_F(Guarantees, AnAttemptOfAnotherPoolLeavesNothingHere) {
  add(1, "lab/one", 8);
  add(2, "lab/one", 4, "a100");
  const Token other = token_of(2);
  const Token own = token_of(1);
  const QueueNumber leaf = queues.number_of("lab/one");
  EXPECT_FALSE(book.cover_instead(leaf, "h100", kOne, {&other, 1}).is_at(1));
  EXPECT_TRUE(book.cover_instead(leaf, "h100", kOne, {&own, 1}).is_at(1));
}

TEST_F(Guarantees, AnAttemptGoesMemberByMember) {
  add(1, "lab/one", 8);
  remove(1, 3);
  EXPECT_EQ(at(1), "0 1");
  EXPECT_EQ(book.claims().at(token_of(1)).charge, 5 * kOne);
  remove(1, 5);
  EXPECT_FALSE(book.has(token_of(1)));
  EXPECT_EQ(book, GuaranteeBook(queues));
}

TEST_F(Guarantees, ATreeThatChangesKeepsThoseUnderTheSamePath) {
  add(1, "lab/one", 9);
  add(2, "lab/one", 8);
  QueueTree tree = tree_of_guarantees();
  tree.nodes[1].guaranteed["h100"] = 10;
  const QueueBook after(2, tree);
  GuaranteeBook::Claims claims = book.claims();
  for (auto& [token, claim] : claims) {
    claim.queue = after.number_of("lab/one");
  }
  book.retell(queues, after, claims);
  EXPECT_EQ(at(2), "0 1") << "the older one would fit, too";
  EXPECT_EQ(at(1), "");
  tree.nodes[0].guaranteed["h100"] = 2;
  tree.nodes[1].guaranteed["h100"] = 2;
  const QueueBook smaller(3, tree);
  book.retell(after, smaller, book.claims());
  EXPECT_EQ(at(1) + at(2), "");
}

TEST_F(Guarantees, ClaimsThatCannotBeCoveredSoAreNoBook) {
  add(1, "lab/one", 8);
  const GuaranteeBook::Claims good = book.claims();
  EXPECT_EQ(GuaranteeBook::of(queues, good), book);
  const auto is_refused = [&](auto change) {
    GuaranteeBook::Claims claims = good;
    change(claims[token_of(1)]);
    return !GuaranteeBook::of(queues, claims).has_value();
  };
  EXPECT_TRUE(is_refused([](auto& claim) { claim.cover.by_pool = 2; })) << "below, not above";
  EXPECT_TRUE(is_refused([](auto& claim) { claim.cover.by_pool = 1; })) << "it fits below";
  EXPECT_TRUE(is_refused([](auto& claim) { claim.cover.by_pool = 7; })) << "too deep";
  EXPECT_TRUE(is_refused([](auto& claim) { claim.cover.by_all_gpus = 1; })) << "no such account";
  EXPECT_TRUE(is_refused([](auto& claim) { claim.charge = 9 * kOne; })) << "too much";
  EXPECT_TRUE(is_refused([](auto& claim) { claim.charge = 0; }));
  EXPECT_TRUE(is_refused([](auto& claim) { claim.queue = QueueNumber{99}; }));
}

/// The same by definition, with a look at all claims for each account.
class Naive {
 public:
  explicit Naive(const QueueBook& queues) : queues_(&queues) {}

  void add(const Token& token, QueueNumber leaf, const std::string& pool, std::uint64_t charge) {
    claims[token] = {leaf, pool, charge};
    settle_path(claims[token]);
  }
  void remove(const Token& token, std::uint64_t charge) {
    claims[token].charge -= charge;
    const GuaranteeBook::Claim claim = claims[token];
    if (claim.charge == 0) {
      claims.erase(token);
    }
    settle_path(claim);
  }

  GuaranteeBook::Claims claims;

 private:
  static bool stands_in(const GuaranteeBook::Claim& claim, std::string_view key) {
    return key == kAllGpus ? claim.pool != kCpuPool
                           : key == (claim.pool == kCpuPool ? kCpus : std::string_view(claim.pool));
  }
  static std::uint8_t& bits_of(GuaranteeBook::Claim& claim, std::string_view key) {
    return key == kAllGpus ? claim.cover.by_all_gpus : claim.cover.by_pool;
  }
  std::vector<QueueNumber> path(QueueNumber leaf) const {
    std::vector<QueueNumber> up;
    for (; leaf != kRootQueue; leaf = queues_->at(leaf).parent) {
      up.push_back(leaf);
    }
    return up;
  }
  void settle_path(const GuaranteeBook::Claim& claim) {
    for (const QueueNumber queue : path(claim.queue)) {
      for (const auto& [key, amount] : queues_->at(queue).guaranteed) {
        if (stands_in(claim, key)) {
          settle(queue, key, amount * kOne);
        }
      }
    }
  }
  void settle(QueueNumber queue, std::string_view key, std::uint64_t limit) {
    const std::size_t depth = path(queue).size() - 1;
    std::uint64_t covered = 0;
    std::vector<GuaranteeBook::Claim*> own;
    std::vector<GuaranteeBook::Claim*> others;
    for (auto& [token, claim] : claims) {
      const std::vector<QueueNumber> up = path(claim.queue);
      if (!stands_in(claim, key) || std::find(up.begin(), up.end(), queue) == up.end()) {
        continue;
      }
      std::uint8_t& bits = bits_of(claim, key);
      if ((bits >> (depth + 1) & 1U) != 0) {
        bits = static_cast<std::uint8_t>(bits | 1U << depth);
        covered += claim.charge;
      } else if ((bits >> depth & 1U) != 0) {
        own.push_back(&claim);
        covered += claim.charge;
      } else {
        others.push_back(&claim);
      }
    }
    for (; covered > limit; own.pop_back()) {
      std::uint8_t& bits = bits_of(*own.back(), key);
      bits = static_cast<std::uint8_t>(bits & ~(1U << depth));
      covered -= own.back()->charge;
      others.push_back(own.back());
    }
    std::sort(others.begin(), others.end(),
              [this](auto* one, auto* other) { return age_of(one) < age_of(other); });
    std::size_t passed_over = 0;
    for (GuaranteeBook::Claim* claim : others) {
      if (passed_over == kPassedOverMax) {
        break;
      }
      const bool fits = covered + claim->charge <= limit;
      std::uint8_t& bits = bits_of(*claim, key);
      bits = static_cast<std::uint8_t>(bits | (fits ? 1U << depth : 0U));
      covered += fits ? claim->charge : 0;
      passed_over += fits ? 0 : 1;
    }
  }
  Token age_of(const GuaranteeBook::Claim* wanted) const {
    for (const auto& [token, claim] : claims) {
      if (&claim == wanted) {
        return token;
      }
    }
    return {};
  }

  const QueueBook* queues_;
};

const std::vector<std::string> kPools = {"h100", "a100", std::string(kCpuPool)};

/// At most 7 queues, three deep; parents have what their children have, or more.
QueueTree random_tree(Rng& rng) {
  const auto amounts = [&](std::uint64_t most) {
    QueueAmounts some;
    for (const std::string_view key : {std::string_view("h100"), kAllGpus, kCpus}) {
      if (rng.below(3) != 0) {
        some[std::string(key)] = rng.below(most);
      }
    }
    return some;
  };
  QueueTree tree;
  tree.nodes = {queue_of("a", {}),
                queue_of("a/b", {}),
                queue_of("a/b/c", amounts(12)),
                queue_of("a/b/d", amounts(8)),
                queue_of("a/e", amounts(16)),
                queue_of("f", amounts(20))};
  for (const std::size_t parent : {1, 0}) {
    const QueueAmounts least = guarantees_of(tree).at(tree.nodes[parent].path);
    for (const auto& [key, amount] : least) {
      if (rng.below(2) == 0) {
        tree.nodes[parent].guaranteed[key] = amount + rng.below(8);
      }
    }
  }
  EXPECT_TRUE(validate(tree));
  return tree;
}

class RandomGuarantees {
 public:
  explicit RandomGuarantees(std::uint64_t seed)
      : rng_(seed), queues_(1, random_tree(rng_)), book_(queues_), naive_(queues_) {
    for (std::uint32_t i = 1; i < queues_.all().size(); ++i) {
      if (queues_.at(QueueNumber{i}).is_leaf()) {
        leaves_.push_back(QueueNumber{i});
      }
    }
  }

  /// One event; then both agree, and the claims alone say the same.
  void step() {
    const auto& claims = book_.claims();
    if (claims.empty() || rng_.below(claims.size() + 8) < 8) {
      const QueueNumber leaf = leaves_[rng_.below(leaves_.size())];
      const std::string& pool = kPools[rng_.below(kPools.size())];
      const std::uint64_t charge = rng_.below(4) == 0 ? 1 + rng_.below(12'000) : 1000;
      const Token token = token_of(++last_);
      book_.add(token, leaf, pool, charge);
      naive_.add(token, leaf, pool, charge);
    } else {
      auto victim = claims.begin();
      std::advance(victim, rng_.below(claims.size()));
      const Token token = victim->first;
      const std::uint64_t charge = victim->second.charge;
      const std::uint64_t gone = rng_.below(2) == 0 ? charge : 1 + rng_.below(charge);
      book_.remove(token, gone);
      naive_.remove(token, gone);
    }
    ASSERT_EQ(book_.claims(), naive_.claims);
    ASSERT_EQ(GuaranteeBook::of(queues_, book_.claims()), book_);
  }

  /// The queue "a/b" loses its children, or "f" gets some; jobs move along.
  void retell() {
    const QueueBook after(2, random_tree(rng_));
    GuaranteeBook::Claims claims = book_.claims();
    for (auto& [token, claim] : claims) {
      claim.queue = rng_.below(4) == 0 ? leaves_[rng_.below(leaves_.size())] : claim.queue;
    }
    const GuaranteeBook before = book_;
    book_.retell(queues_, after, claims);
    ASSERT_EQ(GuaranteeBook::of(after, book_.claims()), book_);
    GuaranteeBook again = before;
    again.retell(queues_, queues_, before.claims());
    ASSERT_EQ(again, before) << "nothing changed";
  }

 private:
  Rng rng_;
  QueueBook queues_;
  GuaranteeBook book_;
  Naive naive_;
  std::vector<QueueNumber> leaves_;
  std::uint64_t last_ = 0;
};

TEST(RandomGuarantees, AreThoseOfTheDefinition) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomGuarantees random(seed);
    for (int i = 0; i < 60 && !::testing::Test::HasFatalFailure(); ++i) {
      random.step();
    }
    if (!::testing::Test::HasFatalFailure()) {
      random.retell();
    }
    ASSERT_FALSE(::testing::Test::HasFatalFailure());
  }
}

}  // namespace
}  // namespace muster::scheduler
