// Attempts that give way to a job: what the log demands of a Preempt, what it keeps for the job,
// and how a preemption ends.

#include "scheduler/state/preemption.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "tests/scheduler/state/cluster.h"
#include "tests/scheduler/state/guaranteed_queues.h"

namespace muster::scheduler {
namespace {

using namespace std::chrono_literals;  // NOLINT: literals only.
using namespace testing;               // NOLINT: the fixture's verbs

/// Two hosts of 4 H100. nlp and vision are guaranteed 4 each.
class Preempting : public ::testing::Test {
 protected:
  Preempting() {
    log.apply(registration(1, 4));
    log.apply(registration(2, 4));
    EXPECT_EQ(set_queues().rejected, "");
  }
  ApplyResult set_queues() {
    entry::SetQueues fact;
    fact.expected = log.state.queues().version();
    fact.tree.nodes = {queue_of("nlp", {{"h100", 4}}), queue_of("vision", {{"h100", 4}})};
    return log.apply(fact);
  }
  JobId submit(const std::string& queue, std::uint32_t gpus, Tier tier = Tier::kStandard) {
    entry::Submit fact = submission("key" + std::to_string(log.index().value()), gpus);
    fact.spec.queue = queue;
    fact.spec.tier = tier;
    fact.spec.request.gpus_per_host = 0;
    return log.apply(fact).job;
  }
  /// Vision runs on both hosts, on 8 GPUs by two attempts of which the second borrows.
  void lend() {
    own = log.run(submit("vision", 4), {member_of(1, 0, 4)});
    lent = log.run(submit("vision", 4), {member_of(2, 0, 4)});
    pass(10min);
  }
  void pass(Duration time) { log.apply(entry::Tick{time}); }
  entry::Preempt preempt(JobId job, std::vector<Token> victims, Member member) const {
    entry::Preempt fact;
    fact.job = job;
    fact.attempt = log.state.job(job)->life.attempts + 1;
    fact.victims = std::move(victims);
    fact.members = {std::move(member)};
    fact.seen = log.state.applied();
    return fact;
  }
  std::string rejected(const entry::Preempt& fact) { return log.apply(fact).rejected; }
  const Job& job_of(const Token& token) const {
    return *log.state.job(log.state.attempt(token)->job);
  }
  /// A voter that starts from a snapshot taken now has the same.
  void expect_kept() const {
    const Result<State> read = State::decode(log.state.encode());
    ASSERT_TRUE(read.has_value()) << read.error().text;
    EXPECT_EQ(read->encode(), log.state.encode());
    EXPECT_EQ(read->preemptions(), log.state.preemptions());
    EXPECT_EQ(read->guarantees(), log.state.guarantees());
  }
  /// The victim ends as one that was stopped.
  void stop(const Token& token, const Member& member) {
    EXPECT_EQ(log.apply(entry::Stop{token, Cause::kPreempted}).rejected, "");
    log.finish(token, member, 143, true);
  }

  Log log;
  Token own;
  Token lent;
};

TEST_F(Preempting, TheBorrowerGivesWayAndTheOwnerStarts) {
  lend();
  const JobId job = submit("nlp", 4);
  ASSERT_EQ(rejected(preempt(job, {lent}, member_of(2, 0, 4))), "");
  EXPECT_EQ(job_of(lent).life.evictions, 0U) << "it may go on yet";
  EXPECT_EQ(log.state.preemptions().find(job)->victims, std::set<Token>{lent});
  EXPECT_FALSE(log.state.guarantees().has(lent)) << "the job claims in its place";
  expect_kept();
  stop(lent, member_of(2, 0, 4));
  EXPECT_EQ(job_of(lent).life.evictions, 1U);
  EXPECT_TRUE(log.state.preemptions().find(job)->victims.empty());
  EXPECT_EQ(log.state.job(log.state.attempt(lent)->job)->life.state, JobState::kQueued);
  const Token token = log.decide(job, {member_of(2, 0, 4)});
  ASSERT_FALSE(token.is_none());
  EXPECT_TRUE(log.state.preemptions().all().empty());
  EXPECT_TRUE(log.state.guarantees().cover(token).is_at(0));
  expect_kept();
}

TEST_F(Preempting, NobodyElseGetsWhatTheVictimLeaves) {
  lend();
  const JobId job = submit("nlp", 4);
  const JobId other = submit("nlp", 2, Tier::kPremium);
  ASSERT_EQ(rejected(preempt(job, {lent}, member_of(2, 0, 4))), "");
  stop(lent, member_of(2, 0, 4));
  EXPECT_TRUE(log.decide(other, {member_of(2, 0, 2)}).is_none());
  EXPECT_TRUE(log.decide(log.state.attempt(lent)->job, {member_of(2, 0, 4)}).is_none());
  log.finish(own, member_of(1, 0, 4), 0);
  EXPECT_FALSE(log.decide(other, {member_of(1, 0, 2)}).is_none()) << "elsewhere it may";
  EXPECT_FALSE(log.decide(job, {member_of(2, 0, 4)}).is_none());
}

TEST_F(Preempting, WhatIsGuaranteedIsNotTaken) {
  lend();
  const JobId job = submit("nlp", 4);
  EXPECT_NE(rejected(preempt(job, {own}, member_of(1, 0, 4))), "");
  EXPECT_NE(rejected(preempt(job, {own, lent}, member_of(2, 0, 4))), "") << "all or none";
  EXPECT_TRUE(log.state.preemptions().all().empty());
  EXPECT_EQ(job_of(lent).life.evictions, 0U);
}

TEST_F(Preempting, AVictimIsProtectedAfterItsStart) {
  lend();
  const JobId job = submit("nlp", 4);
  ASSERT_EQ(rejected(preempt(job, {lent}, member_of(2, 0, 4))), "");
  stop(lent, member_of(2, 0, 4));
  const JobId evicted = log.state.attempt(lent)->job;
  log.apply(entry::Cancel{job, "ann"});
  const Token again = log.run(evicted, {member_of(2, 0, 4)});
  pass(19min);
  const JobId next = submit("nlp", 4);
  EXPECT_NE(rejected(preempt(next, {again}, member_of(2, 0, 4))), "") << "20 minutes now";
  pass(1min);
  EXPECT_EQ(rejected(preempt(next, {again}, member_of(2, 0, 4))), "");
}

TEST_F(Preempting, AVictimThatIsReservedIsAbortedAtOnce) {
  lend();
  log.finish(lent, member_of(2, 0, 4), 0);
  const JobId waiting = submit("vision", 4);
  const Token reserved = log.decide(waiting, {member_of(2, 0, 4)});
  const JobId job = submit("nlp", 4);
  ASSERT_EQ(rejected(preempt(job, {reserved}, member_of(2, 0, 4))), "");
  EXPECT_EQ(log.state.attempt(reserved)->state, AttemptState::kEnded);
  EXPECT_EQ(log.state.job(waiting)->life.state, JobState::kQueued);
  EXPECT_EQ(log.state.edges()[Edge::kAbortedPreempted], 1U);
  expect_kept();
  EXPECT_FALSE(log.decide(job, {member_of(2, 0, 4)}).is_none());
}

TEST_F(Preempting, APreemptionEndsWithItsJob) {
  lend();
  const JobId job = submit("nlp", 4);
  ASSERT_EQ(rejected(preempt(job, {lent}, member_of(2, 0, 4))), "");
  log.apply(entry::Cancel{job, "ann"});
  EXPECT_TRUE(log.state.preemptions().all().empty());
  EXPECT_EQ(log.state.guarantees().claims().at(lent).charge, 4000U);
  EXPECT_NE(log.apply(entry::Stop{lent, Cause::kPreempted}).rejected, "") << "it goes on";
  EXPECT_EQ(log.state.attempt(lent)->state, AttemptState::kStarted);
  expect_kept();
}

TEST_F(Preempting, APreemptionEndsWhenTheJobStartsElsewhere) {
  lend();
  const JobId job = submit("nlp", 4);
  ASSERT_EQ(rejected(preempt(job, {lent}, member_of(2, 0, 4))), "");
  log.finish(own, member_of(1, 0, 4), 0);
  const Token token = log.decide(job, {member_of(1, 0, 4)});
  ASSERT_FALSE(token.is_none());
  EXPECT_TRUE(log.state.guarantees().cover(token).is_at(0));
  EXPECT_TRUE(log.state.guarantees().cover(lent).is_at(0)) << "its queue has the room now";
  EXPECT_NE(log.apply(entry::Stop{lent, Cause::kPreempted}).rejected, "");
}

TEST_F(Preempting, APreemptionEndsWithTheTreeAndWithItsTime) {
  lend();
  const JobId job = submit("nlp", 4);
  ASSERT_EQ(rejected(preempt(job, {lent}, member_of(2, 0, 4))), "");
  EXPECT_EQ(set_queues().rejected, "");
  EXPECT_TRUE(log.state.preemptions().all().empty());
  ASSERT_EQ(rejected(preempt(job, {lent}, member_of(2, 0, 4))), "");
  pass(19s);
  EXPECT_FALSE(log.state.preemptions().all().empty());
  pass(1s);
  EXPECT_TRUE(log.state.preemptions().all().empty());
}

TEST_F(Preempting, APreemptionEndsWithItsEpoch) {
  lend();
  const JobId job = submit("nlp", 4);
  ASSERT_EQ(rejected(preempt(job, {lent}, member_of(2, 0, 4))), "");
  log.state.begin_epoch(2, log.index());
  log.state.check_everything();
  EXPECT_TRUE(log.state.preemptions().all().empty());
}

TEST_F(Preempting, AnEditOfTheTierEndsIt) {
  lend();
  const JobId job = submit("nlp", 4);
  ASSERT_EQ(rejected(preempt(job, {lent}, member_of(2, 0, 4))), "");
  entry::Edit edit;
  edit.job = job;
  edit.by = {"ann"};
  edit.keeps_priority = true;
  edit.tier = Tier::kBatch;
  EXPECT_EQ(log.apply(edit).rejected, "");
  EXPECT_TRUE(log.state.preemptions().all().empty());
}

TEST_F(Preempting, OnlyWhatCanHelpIsTaken) {
  lend();
  const JobId job = submit("nlp", 4);
  EXPECT_NE(rejected(preempt(job, {}, member_of(2, 0, 4))), "");
  EXPECT_NE(rejected(preempt(job, {lent}, member_of(1, 0, 4))), "") << "held by another one";
  EXPECT_NE(rejected(preempt(job, {lent, lent}, member_of(2, 0, 4))), "");
  EXPECT_NE(rejected(preempt(job, {Token{1, 999}}, member_of(2, 0, 4))), "");
  EXPECT_NE(rejected(preempt(job, {lent}, member_of(2, 0, 3))), "") << "not what was asked for";
  entry::Preempt of_nobody = preempt(job, {lent}, member_of(2, 0, 4));
  of_nobody.job = JobId(99);
  EXPECT_NE(rejected(of_nobody), "");
  log.observe(2, Verdict::kSilent);
  EXPECT_NE(rejected(preempt(job, {lent}, member_of(2, 0, 4))), "") << "its host is silent";
  EXPECT_TRUE(log.state.preemptions().all().empty());
}

TEST_F(Preempting, AnAttemptThatIsOverIsNoVictim) {
  lend();
  log.finish(lent, member_of(2, 0, 4), 7);
  ASSERT_EQ(log.state.attempt(lent)->state, AttemptState::kStarted) << "its Stop is not logged yet";
  const JobId job = submit("nlp", 4);
  EXPECT_NE(rejected(preempt(job, {lent}, member_of(2, 0, 4))), "");
}

TEST_F(Preempting, TheRoomUnderAMaxIsKeptToo) {
  entry::SetQueues fact;
  fact.expected = log.state.queues().version();
  fact.tree.nodes = {queue_of("nlp")};
  fact.tree.nodes[0].max = {{"h100", 4}};
  ASSERT_EQ(log.apply(fact).rejected, "");
  const Token low = log.run(submit("nlp", 4, Tier::kBatch), {member_of(1, 0, 4)});
  pass(10min);
  const JobId job = submit("nlp", 4, Tier::kPremium);
  ASSERT_EQ(rejected(preempt(job, {low}, member_of(1, 0, 4))), "") << "the queue is at its max";
  stop(low, member_of(1, 0, 4));
  const JobId other = submit("nlp", 2);
  EXPECT_TRUE(log.decide(other, {member_of(2, 0, 2)}).is_none());
  EXPECT_FALSE(log.decide(job, {member_of(1, 0, 4)}).is_none());
}

TEST_F(Preempting, AVictimGivesWayOnce) {
  lend();
  const JobId job = submit("nlp", 2);
  const JobId other = submit("nlp", 2);
  ASSERT_EQ(rejected(preempt(job, {lent}, member_of(2, 0, 2))), "");
  EXPECT_NE(rejected(preempt(job, {lent}, member_of(2, 0, 2))), "");
  EXPECT_NE(rejected(preempt(other, {lent}, member_of(2, 2, 2))), "");
  stop(lent, member_of(2, 0, 4));
  EXPECT_FALSE(log.decide(other, {member_of(2, 2, 2)}).is_none()) << "that is kept for nobody";
}

TEST_F(Preempting, AVictimThatCompletesHasCompleted) {
  lend();
  const JobId job = submit("nlp", 4);
  ASSERT_EQ(rejected(preempt(job, {lent}, member_of(2, 0, 4))), "");
  log.apply(entry::Stop{lent, Cause::kPreempted});
  log.finish(lent, member_of(2, 0, 4), 0);
  EXPECT_EQ(log.state.job(JobId(2))->life.state, JobState::kCompleted);
  EXPECT_TRUE(log.state.preemptions().find(job)->victims.empty());
}

TEST_F(Preempting, WithoutQueuesNobodyGivesWay) {
  Log plain;
  plain.apply(registration(1, 4));
  entry::Submit fact = submission("low", 4);
  fact.spec.tier = Tier::kBatch;
  const Token low = plain.run(plain.apply(fact).job, {member_of(1, 0, 4)});
  plain.apply(entry::Tick{20min});
  fact = submission("high", 4);
  fact.spec.tier = Tier::kPremium;
  const JobId high = plain.apply(fact).job;
  entry::Preempt wanted;
  wanted.job = high;
  wanted.members = {member_of(1, 0, 4)};
  wanted.victims = {low};
  EXPECT_EQ(plain.apply(wanted).rejected, "nobody has set queues");
}

}  // namespace
}  // namespace muster::scheduler
