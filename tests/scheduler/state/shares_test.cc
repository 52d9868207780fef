// The shares of attempts in the log: what they are charged, when it is given back, and that a max
// keeps a Decide out.

#include <gtest/gtest.h>

#include "scheduler/state/share_book.h"
#include "tests/scheduler/state/cluster.h"

namespace muster::scheduler {
namespace {

using namespace std::chrono_literals;  // NOLINT: literals only.
using namespace testing;               // NOLINT: the fixture's verbs

class SharesOfTheLog : public ::testing::Test {
 protected:
  SharesOfTheLog() {
    log.apply(registration(1, 4));
    log.apply(registration(2, 4));
  }
  /// lab, with `max` GPUs of the type; lab/one and lab/two.
  ApplyResult set_queues(std::uint64_t max) {
    entry::SetQueues fact;
    fact.expected = log.state.queues().version();
    fact.tree.half_life = 1h;
    QueueNode lab;
    lab.path = "lab";
    lab.max = {{"h100", max}};
    QueueNode one;
    one.path = "lab/one";
    QueueNode two;
    two.path = "lab/two";
    two.is_fifo = true;
    fact.tree.nodes = {lab, one, two};
    return log.apply(fact);
  }
  JobId submit(std::uint32_t gpus, const std::string& queue, const std::string& user = "ann") {
    entry::Submit fact = submission("key" + std::to_string(log.index().value()), gpus);
    fact.spec.queue = queue;
    fact.spec.user = user;
    return log.apply(fact).job;
  }
  std::uint64_t held(std::string_view path) const {
    return log.state.shares().share(log.state.queues().number_of(path), "h100").held;
  }
  entry::Decide decision(JobId job, Member member) {
    entry::Decide fact;
    fact.job = job;
    fact.attempt = log.state.job(job)->life.attempts + 1;
    fact.members = {std::move(member)};
    return fact;
  }
  /// The state of a voter that starts from a snapshot taken now.
  State copy() const {
    Result<State> decoded = State::decode(log.state.encode());
    EXPECT_TRUE(decoded.has_value());
    decoded->check_everything();
    EXPECT_EQ(decoded->encode(), log.state.encode());
    return std::move(*decoded);
  }

  Log log;
};

TEST_F(SharesOfTheLog, BeforeThereAreQueuesEverythingIsInTheDefault) {
  const JobId job = submit(2, "");
  const Token token = log.decide(job, {member_of(1, 0, 2)});
  EXPECT_EQ(log.state.attempt(token)->share, (AttemptShare{"default", "", "h100"}));
  EXPECT_EQ(held("default"), 2'000U);
  EXPECT_EQ(copy().shares(), log.state.shares());
}

TEST_F(SharesOfTheLog, AMemberIsChargedUntilItIsOver) {
  set_queues(8);
  const JobId job = submit(3, "lab/one");
  const Member first = member_of(1, 0, 2);
  const Member second = member_of(2, 0, 1, 2);
  const Token token = log.run(job, {first, second});
  const AttemptShare share{"lab/one", "ann", "h100"};
  EXPECT_EQ(log.state.attempt(token)->share, share);
  EXPECT_EQ(log.state.attempt(token)->members[0].charge, 2'000U);
  EXPECT_EQ(held("lab"), 3'000U);
  EXPECT_EQ(log.state.shares().share(log.state.queues().number_of("lab/one"), "ann", "h100").held,
            3'000U);
  EXPECT_EQ(log.finish(token, first, 0).shares_changed, std::vector<AttemptShare>{share});
  EXPECT_EQ(held("lab"), 1'000U);
  EXPECT_EQ(copy().shares(), log.state.shares());
  EXPECT_EQ(log.finish(token, second, 0).shares_changed, std::vector<AttemptShare>{share});
  EXPECT_EQ(held("lab"), 0U);
}

TEST_F(SharesOfTheLog, TheUsersOfAFifoQueueShareOneLeaf) {
  set_queues(8);
  const Token token = log.decide(submit(1, "lab/two"), {member_of(1, 0, 1)});
  EXPECT_EQ(log.state.attempt(token)->share.user, "");
}

TEST_F(SharesOfTheLog, AMaxKeepsADecisionOutWhoseGangIsTooLarge) {
  set_queues(4);
  const JobId first = submit(3, "lab/one");
  const JobId second = submit(2, "lab/two");
  const JobId beside = submit(2, "default");
  ASSERT_NE(log.decide(first, {member_of(1, 0, 3)}), Token());
  const ApplyResult refused = log.apply(decision(second, member_of(2, 0, 2)));
  EXPECT_EQ(refused.rejected_as, ErrorCode::kConflict);
  EXPECT_EQ(refused.rejected, "queue lab is at its max of 4 h100");
  EXPECT_EQ(held("lab"), 3'000U);
  EXPECT_NE(log.decide(beside, {member_of(2, 0, 2)}), Token()) << "another queue has room";
  const JobId little = submit(1, "lab/two");
  EXPECT_NE(log.decide(little, {member_of(1, 3, 1)}), Token()) << "up to the max";
}

TEST_F(SharesOfTheLog, AMaxBelowWhatIsHeldEndsNothingAndLetsNothingIn) {
  set_queues(8);
  const Token token = log.decide(submit(4, "lab/one"), {member_of(1, 0, 4)});
  const JobId next = submit(1, "lab/one");
  EXPECT_EQ(set_queues(2).rejected, "");
  EXPECT_TRUE(log.state.attempt(token)->outstanding() == 1);
  EXPECT_EQ(held("lab"), 4'000U);
  EXPECT_EQ(log.apply(decision(next, member_of(2, 0, 1))).rejected,
            "queue lab is at its max of 2 h100");
}

/// Queues may have moved since the lost log, and agents of earlier versions know none.
TEST_F(SharesOfTheLog, WhatIsAdoptedIsChargedWhateverTheMax) {
  set_queues(8);
  const JobId job = submit(4, "lab/one");
  set_queues(2);
  log.state.begin_epoch(2, log.index());
  const auto adopt = [&](std::uint64_t host, JobId id) {
    const Token token{1, 1'000 + host};
    entry::Register hello = registration(host, 4);
    hello.live = {{token, false}};
    hello.adoptable = {token};
    log.apply(hello);
    GrantDetail detail{id, 1, log.state.job(job)->spec, {member_of(host, 0, 4)}, 2min};
    detail.spec.queue = "gone";
    detail.spec.tier = Tier::kNone;
    EXPECT_EQ(log.apply(entry::Adopt{host_id(host), pair_of(1), token, detail}).rejected, "");
    return log.state.attempt(token)->share;
  };
  EXPECT_EQ(adopt(1, job), (AttemptShare{"lab/one", "ann", "h100"})) << "it is the job known here";
  EXPECT_EQ(held("lab"), 4'000U);
  EXPECT_EQ(adopt(2, JobId(job.value() + 2)), (AttemptShare{"default", "ann", "h100"}));
  EXPECT_EQ(held("default"), 4'000U);
  const Job& lost = log.state.jobs().rbegin()->second;
  EXPECT_EQ(lost.spec.queue, "default");
  EXPECT_EQ(lost.spec.tier, Tier::kStandard);
}

TEST_F(SharesOfTheLog, MeansAndCreditsAreInASnapshot) {
  set_queues(8);
  log.decide(submit(2, "lab/one"), {member_of(1, 0, 2)});
  log.decide(submit(1, "lab/one", "bob"), {member_of(2, 0, 1)});
  EXPECT_FALSE(log.apply(entry::Tick{30s}).credits_changed);
  EXPECT_TRUE(log.apply(entry::Tick{45min}).credits_changed);
  const Share share = log.state.shares().share(log.state.queues().number_of("lab"), "h100");
  EXPECT_GT(share.mean, 0U);
  EXPECT_LT(share.credit, kCreditOne);
  State other = copy();
  EXPECT_EQ(other.shares(), log.state.shares());
  const Entry tick = entry::Tick{1h};
  log.apply(tick);
  other.apply(log.index(), tick);
  EXPECT_EQ(other.encode(), log.state.encode());
}

}  // namespace
}  // namespace muster::scheduler
