// The rules of preemption: by example, and by a search for preemptions that run in a circle. The
// search takes trees, jobs, their order and the victims at random; each rule that is left out is
// found by it.

#include "scheduler/state/preemption_rules.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "gossip/base/rng.h"
#include "tests/scheduler/state/guaranteed_queues.h"

namespace muster::scheduler {
namespace {

using namespace std::chrono_literals;  // NOLINT: literals only.
using namespace testing;               // NOLINT: the fixture's verbs

const std::string kPool = "h100";

/// research is guaranteed 16: nlp and vision 8 each. prod is guaranteed 8, spare nothing.
QueueTree tree_of_rules() {
  QueueTree tree;
  tree.nodes = {queue_of("prod", {{kPool, 8}}), queue_of("research"),
                queue_of("research/nlp", {{kPool, 8}}), queue_of("research/vision", {{kPool, 8}}),
                queue_of("spare")};
  return tree;
}

class PreemptionRules : public ::testing::Test {
 protected:
  Taken run(std::string_view path, Tier tier, std::uint64_t gpus) {
    const Token token = token_of(++last_);
    book.add(token, queues.number_of(path), kPool, gpus * kOne);
    return {token, tier};
  }
  Taker job(std::string_view path, Tier tier, std::uint64_t gpus) const {
    return {queues.number_of(path), kPool, tier, gpus * kOne};
  }
  std::string rule(const Taker& taker, const Taken& victim) const {
    return std::string(text_of(taken_by(queues, book, taker, victim)));
  }

  QueueBook queues{1, tree_of_rules()};
  GuaranteeBook book{queues};

 private:
  std::uint64_t last_ = 0;
};

TEST_F(PreemptionRules, AnOwedJobTakesWhatWasLent) {
  const Taken lent = run("research/vision", Tier::kPremium, 12);
  EXPECT_EQ(rule(job("research/nlp", Tier::kInteractive, 8), lent), "reclaim")
      << "12 do not fit into the 8 of vision; that research as a whole has 16 is no matter there";
  EXPECT_EQ(rule(job("research/nlp", Tier::kInteractive, 9), lent), "") << "not owed so much";
  EXPECT_EQ(rule(job("prod", Tier::kInteractive, 8), lent), "") << "research is guaranteed 16";
  EXPECT_EQ(rule(job("spare", Tier::kStandard, 1), lent), "") << "it is guaranteed nothing";
}

TEST_F(PreemptionRules, WhatIsGuaranteedIsNotTakenByOthers) {
  const Taken own = run("research/vision", Tier::kBatch, 8);
  EXPECT_EQ(rule(job("research/nlp", Tier::kPremium, 8), own), "");
  EXPECT_EQ(rule(job("prod", Tier::kPremium, 8), own), "");
}

TEST_F(PreemptionRules, AHigherTierTakesWhatIsGuaranteedNowhere) {
  const Taken lent = run("spare", Tier::kBatch, 4);
  EXPECT_EQ(rule(job("spare", Tier::kStandard, 4), lent), "tier");
  EXPECT_EQ(rule(job("spare", Tier::kBatch, 4), lent), "") << "no higher tier";
  EXPECT_EQ(rule(job("research/nlp", Tier::kStandard, 64), lent), "tier") << "it borrows as well";
}

TEST_F(PreemptionRules, WithinAQueueAHigherTierTakesTheGuarantee) {
  const Taken own = run("research/vision", Tier::kBatch, 4);
  EXPECT_EQ(rule(job("research/vision", Tier::kPremium, 8), own), "tier");
  EXPECT_EQ(rule(job("research/vision", Tier::kPremium, 9), own), "")
      << "it would not be guaranteed in vision, where the other one is";
  EXPECT_EQ(rule(job("research/vision", Tier::kBatch, 4), own), "");
}

TEST_F(PreemptionRules, ASetIsAllowedAsAWhole) {
  const std::vector<Taken> both = {run("research/vision", Tier::kBatch, 2),
                                   run("research/vision", Tier::kBatch, 6)};
  const Taker taker = job("research/vision", Tier::kPremium, 8);
  EXPECT_EQ(first_refused(queues, book, taker, both), nullptr);
  EXPECT_EQ(first_refused(queues, book, taker, {&both[0], 1}), &both[0])
      << "what the other one keeps is not there for it";
  EXPECT_EQ(first_refused(queues, book, taker, {}), nullptr);
}

TEST_F(PreemptionRules, InferenceIsNeverTaken) {
  const Taken lent = run("spare", Tier::kInference, 4);
  EXPECT_EQ(rule(job("prod", Tier::kInference, 8), lent), "");
}

TEST_F(PreemptionRules, AnAttemptThatHoldsNothingIsNotTaken) {
  EXPECT_EQ(rule(job("prod", Tier::kPremium, 8), {token_of(99), Tier::kBatch}), "");
}

TEST(Protection, DoublesWithEachEviction) {
  EXPECT_EQ(protection_after(0), 10min);
  EXPECT_EQ(protection_after(1), 20min);
  EXPECT_EQ(protection_after(7), 1280min);
  EXPECT_EQ(protection_after(8), 24h);
  EXPECT_EQ(protection_after(UINT32_MAX), 24h);
}

/// A rule that is left out.
enum class Without { kNothing, kCoverInstead, kLastCheck, kLentAtAll };

struct Findings {
  std::uint64_t preemptions = 0;
  std::uint64_t not_risen = 0;
  std::uint64_t illegal = 0;
  std::uint64_t loops = 0;
  std::uint64_t evictions_most = 0;
};

/// A tree of queues, some GPUs of one type, and jobs that never end, tried in a random order.
class World {
 public:
  World(std::uint64_t seed, Without without)
      : rng_(seed), without_(without), queues_(1, random_tree()), book_(queues_) {
    for (std::uint32_t i = 1; i < queues_.all().size(); ++i) {
      if (queues_.at(QueueNumber{i}).is_leaf()) {
        leaves_.push_back(QueueNumber{i});
      }
    }
    free_ = (6 + rng_.below(30)) * kOne;
    for (std::uint64_t i = 0; i < 6 + rng_.below(24); ++i) {
      const std::uint64_t gpus = rng_.below(3) == 0 ? 1 + rng_.below(16) : 1 + rng_.below(4);
      jobs_.push_back({{leaves_[rng_.below(leaves_.size())], kPool,
                        static_cast<Tier>(1 + rng_.below(5)), gpus * kOne}});
    }
  }

  /// Until no job can start any more.
  void run(Findings& found) {
    constexpr int kStepsMax = 2000;
    constexpr int kIdleMax = 60;
    int idle = 0;
    for (int step = 0; idle < kIdleMax; ++step) {
      if (step == kStepsMax) {
        ++found.loops;
        return;
      }
      Job& job = jobs_[rng_.below(jobs_.size())];
      idle = job.token.is_none() && try_start(job, found) ? 0 : idle + 1;
    }
    for (const Job& job : jobs_) {
      found.evictions_most = std::max(found.evictions_most, job.evictions);
    }
  }

 private:
  struct Job {
    Taker wanted;
    Token token{};
    std::uint64_t evictions = 0;
  };
  /// Sums by depth from the deepest, and by tier from the highest; at last what runs.
  using Potential = std::vector<std::uint64_t>;

  QueueTree random_tree() {
    const auto amount = [&]() -> QueueAmounts {
      return rng_.below(4) == 0 ? QueueAmounts()
                                : QueueAmounts{{rng_.below(5) == 0 ? std::string(kAllGpus) : kPool,
                                                rng_.below(16)}};
    };
    QueueTree tree;
    tree.nodes = {queue_of("a"),
                  queue_of("a/b"),
                  queue_of("a/b/c", amount()),
                  queue_of("a/b/d", amount()),
                  queue_of("a/e", amount()),
                  queue_of("f", amount())};
    for (const std::size_t parent : {1, 0}) {
      const QueueAmounts least = guarantees_of(tree).at(tree.nodes[parent].path);
      for (const auto& [key, sum] : least) {
        if (rng_.below(2) == 0) {
          tree.nodes[parent].guaranteed[key] = sum + rng_.below(8);
        }
      }
    }
    EXPECT_TRUE(validate(tree));
    return tree;
  }

  Potential potential() const {
    constexpr std::size_t kTiers = static_cast<std::size_t>(kTierLast) + 1;
    Potential sums((kQueueDepthMax + 1) * kTiers);
    for (const Job& job : jobs_) {
      const Cover cover = book_.cover(job.token);
      const std::size_t tier =
          static_cast<std::size_t>(kTierLast) - static_cast<std::size_t>(job.wanted.tier);
      for (std::size_t depth = 0; depth < kQueueDepthMax; ++depth) {
        const std::uint64_t times =
            (cover.by_pool >> depth & 1U) + (cover.by_all_gpus >> depth & 1U);
        sums[(kQueueDepthMax - 1 - depth) * kTiers + tier] += times * job.wanted.charge;
      }
      sums[kQueueDepthMax * kTiers + tier] += job.token.is_none() ? 0 : job.wanted.charge;
    }
    return sums;
  }

  bool is_refused(const Taker& taker, std::vector<Taken> victims) const {
    if (without_ == Without::kCoverInstead) {
      std::erase_if(victims, [&](const Taken& victim) {
        return book_.claims().at(victim.token).queue == taker.queue && victim.tier < taker.tier;
      });
    } else if (without_ == Without::kLentAtAll) {
      std::erase_if(victims, [&](const Taken& victim) {
        return victim.tier < taker.tier && victim.tier != Tier::kInference;
      });
    }
    return first_refused(queues_, book_, taker, victims) != nullptr;
  }

  /// Victims that free enough, some of which may not be needed. Empty: nobody may be taken.
  std::vector<Taken> choose(const Taker& taker) {
    std::vector<const Job*> candidates;
    for (const Job& job : jobs_) {
      if (!job.token.is_none()) {
        candidates.insert(
            candidates.begin() + static_cast<std::ptrdiff_t>(rng_.below(candidates.size() + 1)),
            &job);
      }
    }
    const bool is_greedy = rng_.below(2) == 0;  // The set as a whole has to be allowed.
    const std::uint64_t enough = taker.charge + rng_.below(3) * kOne * 2;
    std::vector<Taken> victims;
    std::uint64_t room = free_;
    for (const Job* job : candidates) {
      std::vector<Taken> more = victims;
      more.push_back({job->token, job->wanted.tier});
      if (room < enough && (is_greedy || !is_refused(taker, more))) {
        victims = std::move(more);
        room += job->wanted.charge;
      }
    }
    const bool is_good = room >= taker.charge && !is_refused(taker, victims);
    return is_good ? victims : std::vector<Taken>();
  }

  std::uint64_t charge_of(const Taken& victim) const {
    return book_.claims().at(victim.token).charge;
  }

  void prune(const Taker& taker, std::vector<Taken>& victims) const {
    std::uint64_t room = free_;
    for (const Taken& victim : victims) {
      room += charge_of(victim);
    }
    std::erase_if(victims, [&](const Taken& victim) {
      const bool is_needed = room - charge_of(victim) < taker.charge;
      room -= is_needed ? 0 : charge_of(victim);
      return !is_needed;
    });
  }

  bool try_start(Job& job, Findings& found) {
    std::vector<Taken> victims;
    if (free_ < job.wanted.charge) {
      victims = choose(job.wanted);
      prune(job.wanted, victims);
      if (victims.empty() || (without_ != Without::kLastCheck && is_refused(job.wanted, victims))) {
        return false;
      }
    }
    const Potential before = potential();
    const GuaranteeBook book_before = book_;
    const bool is_start = victims.empty();
    std::vector<Token> gone;
    for (const Taken& victim : victims) {
      gone.push_back(victim.token);
      free_ += charge_of(victim);
    }
    job.token = token_of(++last_);
    book_.replace(gone, job.token, job.wanted.queue, job.wanted.pool, job.wanted.charge);
    free_ -= job.wanted.charge;
    found.illegal += std::any_of(victims.begin(), victims.end(), [&](const Taken& victim) {
      return !is_legal(book_before, job, victim);
    });
    for (Job& other : jobs_) {
      if (std::find(gone.begin(), gone.end(), other.token) != gone.end()) {
        other.token = Token();
        ++other.evictions;
      }
    }
    found.preemptions += is_start ? 0 : 1;
    found.not_risen += potential() > before ? 0 : 1;
    EXPECT_EQ(GuaranteeBook::of(queues_, book_.claims()), book_);
    return true;
  }

  /// The rules once more, in other words, by what became of the job.
  bool is_legal(const GuaranteeBook& before, const Job& job, const Taken& victim) const {
    const GuaranteeBook::Claim& claim = before.claims().at(victim.token);
    if (victim.tier == Tier::kInference) {
      return false;
    }
    const std::string own = queues_.at(job.wanted.queue).node.path + "/";
    const std::string other = queues_.at(claim.queue).node.path + "/";
    if (own != other) {
      const auto fork = std::mismatch(own.begin(), own.end(), other.begin(), other.end()).first;
      const auto depth = std::count(own.begin(), fork, '/');
      const auto end = std::find(fork, own.end(), '/');
      const QueueNumber ours = queues_.number_of(std::string(own.begin(), end));
      for (const auto& [key, amount] : queues_.at(ours).guaranteed) {
        const bool has_room = before.claimed(ours, key) + job.wanted.charge <= amount * kOne;
        if (has_room && !claim.cover.is_at(static_cast<std::size_t>(depth))) {
          return true;
        }
      }
    }
    const Cover now = book_.cover(job.token);
    const bool is_covered_too = (claim.cover.by_pool & ~now.by_pool) == 0 &&
                                (claim.cover.by_all_gpus & ~now.by_all_gpus) == 0;
    return job.wanted.tier > victim.tier &&
           (claim.cover.is_none() || (own == other && is_covered_too));
  }

  Rng rng_;
  Without without_;
  QueueBook queues_;
  GuaranteeBook book_;
  std::vector<QueueNumber> leaves_;
  std::uint64_t free_ = 0;  ///< Thousandths.
  std::vector<Job> jobs_;
  std::uint64_t last_ = 0;
};

Findings search(std::uint64_t worlds, Without without) {
  Findings found;
  for (std::uint64_t seed = 1; seed <= worlds; ++seed) {
    World(seed, without).run(found);
  }
  return found;
}

/// MUSTER_WORLDS, or enough to find each rule that is left out.
std::uint64_t worlds() {
  const char* wanted = std::getenv("MUSTER_WORLDS");
  return wanted == nullptr ? 1000 : std::strtoull(wanted, nullptr, 10);
}

TEST(PreemptionSearch, NoPreemptionRunsInACircle) {
  const Findings found = search(worlds(), Without::kNothing);
  EXPECT_GT(found.preemptions, worlds());
  EXPECT_EQ(found.not_risen, 0U);
  EXPECT_EQ(found.illegal, 0U);
  EXPECT_EQ(found.loops, 0U);
  std::printf("# %llu preemptions in %llu worlds, at most %llu of one job\n",
              static_cast<unsigned long long>(found.preemptions),
              static_cast<unsigned long long>(worlds()),
              static_cast<unsigned long long>(found.evictions_most));
}

TEST(PreemptionSearch, FindsASetThatIsNotCheckedAfterItWasPruned) {
  EXPECT_GT(search(worlds(), Without::kLastCheck).illegal, 0U);
}

TEST(PreemptionSearch, FindsAJobThatIsNotGuaranteedWhereItsVictimIs) {
  const Findings found = search(worlds(), Without::kCoverInstead);
  EXPECT_GT(found.illegal, 0U);
  EXPECT_GT(found.not_risen, 0U);
}

TEST(PreemptionSearch, FindsATierThatTakesWhatOthersAreGuaranteed) {
  const Findings found = search(worlds(), Without::kLentAtAll);
  EXPECT_GT(found.illegal, 0U);
  EXPECT_GT(found.not_risen, 0U);
}

}  // namespace
}  // namespace muster::scheduler
