// A snapshot at any index and the rest of the log give what a full replay gives: the same answer to
// every entry and the same state, byte for byte. Histories of all kinds of entries are drawn from
// seeds; each is cut at indexes drawn as well.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "gossip/base/rng.h"
#include "tests/scheduler/state/cluster.h"
#include "tests/scheduler/state/history.h"

namespace muster::scheduler {
namespace {

using namespace testing;  // NOLINT: the fixture's verbs

constexpr std::uint64_t kHistories = 100;
constexpr std::uint64_t kEntries = 800;
constexpr std::uint64_t kCutsEach = 10;
constexpr std::uint64_t kCuts = 1000;
static_assert(kHistories * kCutsEach == kCuts);

/// Whether the results of two applications of an entry are equal.
bool same(const ApplyResult& left, const ApplyResult& right) {
  const auto same_event = [](const Event& a, const Event& b) {
    return a.severity == b.severity && a.name == b.name && a.fields == b.fields;
  };
  return left.job == right.job && left.rejected == right.rejected &&
         left.rejected_as == right.rejected_as && left.touched == right.touched &&
         left.capacity_changed == right.capacity_changed &&
         left.usual_changed == right.usual_changed &&
         left.credits_changed == right.credits_changed &&
         left.shares_changed == right.shares_changed &&
         std::equal(left.events.begin(), left.events.end(), right.events.begin(),
                    right.events.end(), same_event);
}

/// Counts of what the histories contained, so that a hollow one is noticed.
struct Tally {
  std::array<std::uint64_t, static_cast<std::size_t>(EntryKind::kPreempt) + 1> accepted{};
  std::uint64_t skipped = 0;
  std::uint64_t usual_changed = 0;
  std::uint64_t keys_forgotten = 0;
  std::uint64_t keys_repeated = 0;
  std::uint64_t refused = 0;  ///< Submits, for the bytes of unfinished jobs.
  std::uint64_t at_max = 0;   ///< Decisions, for the max of a queue.
  // At the ends of histories.
  std::uint64_t ended_forgotten = 0;
  std::uint64_t attempts_forgotten = 0;
  std::uint64_t histories_shortened = 0;
  std::uint64_t keys_lost = 0;
  std::uint64_t audited = 0;
  std::int64_t user_means = 0;
  EdgeCounts edges;
};

class Replay {
 public:
  Replay(std::uint64_t seed, Tally& tally, const KeptBytesMax& kept_max = {})
      : history_(seed), rng_(seed + 1), tally_(tally), kept_max_(kept_max), state_(1, kept_max) {}

  /// Applies the next entry to the state and to all that were decoded from its snapshots.
  void step() {
    index_ = index_.next();
    if (rng_.below(50) == 0) {
      ++tally_.skipped;
      state_.skip(index_);
      each_copy([&](State& copy) { copy.skip(index_); });
      return;
    }
    const Entry entry = history_.next(state_);
    const ApplyResult expected = state_.apply(index_, entry);
    tally_.refused += expected.rejected.starts_with("the commands of all jobs") ? 1 : 0;
    tally_.at_max += expected.rejected.find(" is at its max of ") != std::string::npos ? 1 : 0;
    tally_.usual_changed += expected.usual_changed ? 1 : 0;
    note(entry, expected);
    each_copy([&](State& copy) {
      ASSERT_TRUE(same(copy.apply(index_, entry), expected)) << "at index " << index_.value();
    });
  }

  void cut() {
    Result<State> copy = State::decode(state_.encode(), kept_max_);
    ASSERT_TRUE(copy.has_value()) << copy.error().text;
    ASSERT_EQ(copy->encode(), state_.encode());
    copies_.push_back(std::move(copy).value());
  }

  void finish() {
    state_.check_everything();
    tally_.audited += state_.audit().last();
    for (const auto& [name, pool] : state_.shares().pools()) {
      tally_.user_means += std::count_if(pool.users.begin(), pool.users.end(),
                                         [](const auto& user) { return user.second.mean != 0; });
    }
    const std::string expected = state_.encode();
    each_copy([&](State& copy) {
      copy.check_everything();
      ASSERT_EQ(copy.encode(), expected);
      ++equal_;
    });
    tally_.edges.merge(state_.edges());
    std::uint64_t last = 0;
    for (const auto& [id, job] : state_.jobs()) {
      const std::size_t attempts = std::min<std::size_t>(job.life.attempts, kAttemptsKept);
      tally_.attempts_forgotten += attempts - std::min(attempts, job.life.attempt_tokens.size());
      tally_.histories_shortened += job.history.transitions.front().cause != "submitted" &&
                                    job.history.transitions.size() < kTransitionsKept;
      tally_.keys_lost += !state_.job_of_key(job.key).has_value();
      last = id.value();
    }
    tally_.ended_forgotten += last - state_.jobs().size();
  }

  std::uint64_t equal() const { return equal_; }
  const State& state() const { return state_; }

 private:
  template <class Do>
  void each_copy(Do what) {
    for (State& copy : copies_) {
      what(copy);
    }
  }
  void note(const Entry& entry, const ApplyResult& result) {
    const auto* submit = std::get_if<entry::Submit>(&entry);
    if (result.rejected.empty()) {
      ++tally_.accepted[static_cast<std::size_t>(kind_of(entry))];
      tally_.keys_repeated += submit != nullptr && result.events.empty() ? 1 : 0;
    }
    if (submit != nullptr) {
      first_key_ = first_key_.empty() ? submit->key : first_key_;
    }
    if (!first_key_.empty() && !state_.job_of_key(first_key_).has_value() && !forgot_) {
      forgot_ = state_.cluster_time() > kClientKeyLife;
      tally_.keys_forgotten += forgot_ ? 1 : 0;
    }
  }

  History history_;
  Rng rng_;
  Tally& tally_;
  LogIndex index_;
  KeptBytesMax kept_max_;
  State state_;
  std::vector<State> copies_;
  std::string first_key_;
  bool forgot_ = false;
  std::uint64_t equal_ = 0;
};

TEST(Snapshot, AtAnyIndexAndTheRestOfTheLogEqualAFullReplay) {
  Tally tally;
  std::uint64_t equal = 0;
  for (std::uint64_t seed = 1; seed <= kHistories; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Replay replay(seed, tally);
    Rng rng(seed);
    std::vector<std::uint64_t> cuts;
    for (std::uint64_t i = 0; i < kCutsEach; ++i) {
      cuts.push_back(rng.below(kEntries));
    }
    for (std::uint64_t index = 0; index < kEntries && !HasFatalFailure(); ++index) {
      for (auto i = std::count(cuts.begin(), cuts.end(), index); i > 0; --i) {
        replay.cut();
      }
      replay.step();
    }
    replay.finish();
    ASSERT_FALSE(HasFatalFailure());
    equal += replay.equal();
  }
  std::printf("figure snapshot_replays_equal %llu count\n", static_cast<unsigned long long>(equal));
  EXPECT_EQ(equal, kCuts);
  // The histories are not hollow.
  for (std::size_t kind = 1; kind < tally.accepted.size(); ++kind) {
    const auto drawn = static_cast<EntryKind>(kind);
    const bool unused = drawn == EntryKind::kAdopt ||
                        (drawn > EntryKind::kRemoveHost && drawn < EntryKind::kGpuOrder);
    EXPECT_TRUE(unused || tally.accepted[kind] >= 40)
        << "kind " << kind << " came up " << tally.accepted[kind] << " times";
  }
  EXPECT_GT(tally.skipped, 100U);
  EXPECT_GT(tally.usual_changed, kHistories / 2);
  EXPECT_GT(tally.keys_repeated, 100U);
  EXPECT_GT(tally.keys_forgotten, 0U);
  EXPECT_GT(tally.audited, kHistories);
  EXPECT_GT(tally.at_max, 20U);
  EXPECT_GT(tally.user_means, 20);
  for (const std::string_view edge : tally.edges.unreached()) {
    ADD_FAILURE() << "no history took the edge " << edge;
  }
}

/// Limits are so low that everything is forgotten early: it is forgotten early in the same way.
TEST(Snapshot, WhatIsForgottenForItsBytesIsTheSameFromAnySnapshot) {
  constexpr KeptBytesMax kLittle = {.unfinished_jobs = 6000,
                                    .ended_jobs = 9000,
                                    .earlier_attempts = 600,
                                    .histories = 3000,
                                    .client_keys = 400};
  Tally tally;
  std::uint64_t equal = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Replay replay(seed, tally, kLittle);
    Rng rng(seed);
    for (std::uint64_t index = 0; index < kEntries && !HasFatalFailure(); ++index) {
      if (rng.below(kEntries / 5) == 0) {
        replay.cut();
      }
      replay.step();
    }
    replay.finish();
    ASSERT_FALSE(HasFatalFailure());
    EXPECT_LE(replay.state().kept().unfinished_jobs, kLittle.unfinished_jobs);
    EXPECT_LE(replay.state().kept().earlier_attempts, kLittle.earlier_attempts);
    EXPECT_LE(replay.state().kept().client_keys, kLittle.client_keys);
    EXPECT_LE(replay.state().kept().ended_jobs, kLittle.ended_jobs);
    equal += replay.equal();
  }
  EXPECT_GT(equal, 50U);
  EXPECT_GT(tally.refused, 20U);
  EXPECT_GT(tally.ended_forgotten, 100U);
  EXPECT_GT(tally.attempts_forgotten, 10U);
  EXPECT_GT(tally.histories_shortened, 10U);
  EXPECT_GT(tally.keys_lost, 20U);
}

}  // namespace
}  // namespace muster::scheduler
