// A quorum that goes on from one log under a higher epoch: the attempts that hosts run are adopted
// once, under their own jobs, and no GPU of them stays withheld afterwards.

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/scheduler/leader/one_leader.h"

namespace muster::scheduler {
namespace {

using namespace testing;               // NOLINT: the fixture's verbs
using namespace std::chrono_literals;  // NOLINT

const Token kLost{1, 500};  ///< Decided by the voters that were lost.

class Recovered : public OneLeader {
 protected:
  /// The quorum goes on from this log.
  void recover(Log& log) { recover(log, log.index()); }
  /// Entries beyond `committed` may have been other ones at the lost voters.
  void recover(Log& log, LogIndex committed) {
    log.state.begin_epoch(2, committed);
    scheduler = Scheduler(SchedulerConfig(), log.state, now);
    index = log.index();
    lead();
  }
  /// Two hosts, which the log knows, and nothing else.
  void recover_with_two_hosts() {
    Log log;
    log.apply(registration(1, 4));
    log.apply(registration(2, 4));
    recover(log);
  }
  static GrantDetail detail_of(std::uint64_t job_id, std::vector<Member> members,
                               std::uint32_t attempt = 1) {
    GrantDetail detail;
    detail.job = JobId(job_id);
    detail.attempt = attempt;
    detail.members = std::move(members);
    detail.hold = 2min;
    std::uint32_t gpus = 0;
    for (const Member& member : detail.members) {
      gpus += static_cast<std::uint32_t>(member.gpus.size());
    }
    detail.spec = spec_of(gpus);
    return detail;
  }
  static GrantDetail gang_over_both() {
    return detail_of(7, {member_of(1, 0, 4, 0), member_of(2, 0, 4, 4)});
  }
  Hello hello_with(std::uint64_t host, const GrantDetail& detail, const Token& token = kLost) {
    Hello hello = hello_of(host);
    hello.grants = {{token, GrantState::kRunning, {}, detail}};
    return hello;
  }
  /// Like an agent: once a second until it is answered, and never again.
  void say_hello_until_answered(std::uint64_t host, const Hello& hello) {
    for (int i = 0; i < 40 && said<HelloReply>(host).empty(); ++i) {
      hear(host, hello, Nonce(100 + host));
      pass(1s);
    }
    ASSERT_EQ(said<HelloReply>(host).size(), 1U);
  }
  const HostRecord& host(std::uint64_t number) { return *scheduler.state().host(host_id(number)); }
  std::size_t free_on(std::uint64_t number) {
    return scheduler.state().free_gpus(host(number)).size();
  }
};

/// The second host's hello is heard while the Adopt that the first one's led to is on its way.
class BetweenTwoHellos : public Recovered {
 protected:
  void play(bool adopt_is_first) {
    recover_with_two_hosts();
    answer_rounds = false;
    hear(1, hello_with(1, gang_over_both()), Nonce(1));
    ASSERT_EQ(rounds.size(), 1U);
    commit = false;
    answer_rounds = true;
    settle();
    ASSERT_EQ(pending.size(), 1U) << "the Adopt";
    answer_rounds = false;
    hear(2, hello_with(2, gang_over_both()), Nonce(2));
    ASSERT_EQ(pending.size(), 2U);
    if (!adopt_is_first) {
      std::swap(pending[0], pending[1]);
    }
    commit = true;
    settle();
    answer_rounds = true;
    settle();
    ASSERT_NE(scheduler.state().attempt(kLost), nullptr);
    say_hello_until_answered(1, hello_with(1, gang_over_both()));
    say_hello_until_answered(2, hello_with(2, gang_over_both()));
    EXPECT_TRUE(said<HelloReply>(2).back().kill.empty());
    for (const std::uint64_t number : {1, 2}) {
      EXPECT_TRUE(host(number).quarantined.empty()) << number;
      EXPECT_TRUE(host(number).recovery.unadopted.empty()) << number;
      finish(number, kLost, 0);
      EXPECT_EQ(free_on(number), 4U) << number;
    }
  }
};

TEST_F(BetweenTwoHellos, NothingStaysWithheldWhenTheAdoptIsFirst) {
  play(true);
}

TEST_F(BetweenTwoHellos, NothingStaysWithheldWhenTheRegisterIsFirst) {
  play(false);
}

TEST_F(Recovered, ATaskThatBeganInTheLostLogIsAdoptedAndNotBegunAgain) {
  Log log;
  log.apply(registration(1, 4));
  entry::Submit fact = submission("array", 1);
  fact.spec.array = ArrayRange{0, 9, 0};
  const JobId array = log.apply(fact).job;
  recover(log);
  GrantDetail lost = detail_of(1, {member_of(1, 0, 1)});
  lost.job = task_id(array, 7);
  say_hello_until_answered(1, hello_with(1, lost));
  ASSERT_NE(scheduler.state().attempt(kLost), nullptr);
  finish(1, kLost, 0);
  EXPECT_GT(scheduler.state().array(array)->next, 7U) << "others of it were tried meanwhile";
  EXPECT_EQ(job(lost.job).life.attempt_tokens, std::vector<Token>{kLost});
  EXPECT_EQ(scheduler.state().array(array)->completed, 1U);
  scheduler.check_everything();
}

/// A job of the recovered log and one of the lost voters bear the same number.
class OneNumberTwice : public Recovered {
 protected:
  OneNumberTwice() {
    Log log;
    log.apply(registration(1, 4));
    log.apply(registration(2, 4));
    mine = log.submit(3);
    recover(log);
    lost = detail_of(mine.value(), {member_of(2, 0, 2)});
    say_hello_until_answered(2, hello_with(2, lost));
  }
  JobId mine;
  GrantDetail lost;
};

TEST_F(OneNumberTwice, TheGangIsNotTakenForTheOtherClientsJob) {
  const Attempt* adopted = scheduler.state().attempt(kLost);
  ASSERT_NE(adopted, nullptr);
  const JobId number = adopted->job;
  EXPECT_GT(number, mine);
  lost.spec.queue = kDefaultQueue;
  lost.spec.tier = Tier::kStandard;
  EXPECT_EQ(job(number).spec, lost.spec);
  EXPECT_EQ(job(number).submitted_by, "adopted as job " + std::to_string(mine.value()));
  finish(2, kLost, 0);
  EXPECT_EQ(job(number).life.state, JobState::kCompleted);
  EXPECT_FALSE(job(mine).has_ended()) << "it never ran";
  say_hello_until_answered(1, hello_of(1));
  EXPECT_EQ(job(mine).life.state, JobState::kScheduled);
  EXPECT_GT(submit(1, "next"), number);
}

TEST_F(OneNumberTwice, AnotherAttemptOfTheLostJobIsNoThirdJob) {
  const Token second{1, 600};
  GrantDetail again = lost;
  again.attempt = 2;
  again.members = {member_of(1, 0, 2)};
  hear(1, hello_with(1, again, second));
  EXPECT_EQ(scheduler.state().attempt(second), nullptr) << "its first one runs";
  EXPECT_EQ(scheduler.state().jobs().size(), 2U);
}

/// The log ends with entries that no majority is known to have: the lost voters had others there.
class WithATail : public Recovered {
 protected:
  WithATail() {
    log.apply(registration(1, 4));
    log.apply(registration(2, 4));
    known = log.submit(2);
    committed = log.index();
  }
  /// The only hello that matters: host 1 runs this gang.
  const Attempt* adopt(const GrantDetail& running, const Token& token) {
    recover(log, committed);
    hear(1, hello_with(1, running, token), Nonce(1));
    say_hello_until_answered(1, hello_with(1, running, token));
    EXPECT_TRUE(said<HelloReply>(1).back().kill.empty());
    return scheduler.state().attempt(token);
  }
  Log log;
  LogIndex committed;
  JobId known;
};

TEST_F(WithATail, AGangThatWasDecidedWhereThisLogHadSomethingElseIsAdopted) {
  const Token token{1, committed.value() + 2};
  for (int i = 0; i < 5; ++i) {
    log.apply(entry::Tick{1s});
  }
  const Attempt* adopted = adopt(detail_of(known.value(), {member_of(1, 0, 2)}), token);
  ASSERT_NE(adopted, nullptr);
  EXPECT_EQ(adopted->job, known);
  EXPECT_EQ(job(known).life.state, JobState::kRunning);
}

TEST_F(WithATail, ATokenThatThisLogGaveToAnotherGangIsTheOneThatRuns) {
  const JobId other = log.submit(1);
  const Token token = log.decide(other, {member_of(2, 0, 1)});
  const Attempt* adopted = adopt(detail_of(known.value(), {member_of(1, 0, 2)}), token);
  ASSERT_NE(adopted, nullptr);
  EXPECT_EQ(adopted->job, known);
  EXPECT_EQ(adopted->members.size(), 1U);
  EXPECT_EQ(job(known).life.attempt_tokens, std::vector<Token>{token});
  EXPECT_TRUE(job(other).life.attempt_tokens.empty());
  EXPECT_EQ(job(other).life.state, JobState::kQueued);
}

TEST_F(WithATail, TheSameAttemptMayHaveBeenDecidedElsewhere) {
  const Token here = log.decide(known, {member_of(2, 0, 2)});
  log.apply(entry::Tick{1s});
  const Token there{1, here.index + 1};
  const Attempt* adopted = adopt(detail_of(known.value(), {member_of(1, 0, 2)}), there);
  ASSERT_NE(adopted, nullptr);
  EXPECT_EQ(adopted->job, known);
  EXPECT_EQ(job(known).life.current, there);
}

TEST_F(WithATail, AnAbortOfTheTailIsNoReasonToEndWhatWasStarted) {
  const Token token = log.decide(known, {member_of(1, 0, 2)});
  committed = log.index();
  log.apply(entry::Abort{token, Cause::kDeadline, host_id(1)});
  const Attempt* adopted = adopt(detail_of(known.value(), {member_of(1, 0, 2)}), token);
  ASSERT_NE(adopted, nullptr);
  EXPECT_EQ(adopted->state, AttemptState::kStarted);
  EXPECT_EQ(job(known).life.attempt_tokens, std::vector<Token>{token});
}

TEST_F(WithATail, WhatThisLogStartedInItsTailGoesOn) {
  const Token token = log.run(known, {member_of(1, 0, 2)});
  const Attempt* same = adopt(detail_of(known.value(), {member_of(1, 0, 2)}), token);
  ASSERT_NE(same, nullptr);
  EXPECT_EQ(same->state, AttemptState::kStarted);
  EXPECT_EQ(job(known).life.state, JobState::kRunning);
}

/// One of its hosts came back without it, and its GPUs were given to others.
TEST_F(Recovered, AGangIsAdoptedThoughOthersHaveTheGpusOfAHostThatLostIt) {
  recover_with_two_hosts();
  say_hello_until_answered(2, hello_of(2));
  pass(40s);
  submit(4, "other");
  ASSERT_EQ(free_on(2), 0U);
  say_hello_until_answered(1, hello_with(1, gang_over_both()));
  const Attempt* adopted = scheduler.state().attempt(kLost);
  ASSERT_NE(adopted, nullptr);
  EXPECT_EQ(adopted->find(host_id(2))->end, MemberEnd::kLost);
  EXPECT_EQ(scheduler.state().job(JobId(10'001))->life.state, JobState::kScheduled);
}

/// Its registration was lost with the voters, and so was the host.
TEST_F(Recovered, AGangWaitsForAHostThatTheLogNeverMetAsLongAsTheQueueDoes) {
  Log log;
  log.apply(registration(1, 4));
  log.submit(1);
  recover(log);
  const Hello hello = hello_with(1, gang_over_both());
  for (int i = 0; i < 20; ++i) {
    hear(1, hello);
    pass(1s);
  }
  EXPECT_TRUE(said<HelloReply>(1).empty());
  EXPECT_EQ(host(1).recovery.unadopted, std::vector<Token>{kLost});
  ASSERT_NO_FATAL_FAILURE(say_hello_until_answered(1, hello));
  EXPECT_EQ(said<HelloReply>(1).back().kill, std::vector<Token>{kLost});
  EXPECT_TRUE(host(1).quarantined.empty());
  EXPECT_TRUE(host(1).recovery.unadopted.empty());
}

TEST_F(Recovered, AGangOfAHostThatTheLogNeverMetIsAdoptedWhenThatSpeaks) {
  Log log;
  log.apply(registration(1, 4));
  recover(log);
  pass(40s);
  const GrantDetail alone = detail_of(7, {member_of(2, 0, 4)});
  say_hello_until_answered(2, hello_with(2, alone));
  EXPECT_NE(scheduler.state().attempt(kLost), nullptr);
}

TEST_F(Recovered, WhatAForgottenJobLeftBehindIsNotAdopted) {
  Log log;
  log.state = State(1, KeptBytesMax{.ended_jobs = 1});
  log.apply(registration(1, 4));
  const JobId cancelled = log.submit(4);
  const Token token = log.decide(cancelled, {member_of(1, 0, 4)});
  const entry::Adopt listed{host_id(1), pair_of(1), token,
                            detail_of(cancelled.value(), {member_of(1, 0, 4)})};
  // Of the tail: those who are lost may have had another Decide there, and started it.
  log.state.begin_epoch(2, LogIndex(1));
  ASSERT_TRUE(log.state.may_be_adopted(token)) << "others may have had a Start";
  EXPECT_NE(log.state.adoption(listed), State::Adoption::kNever);
  log.apply(entry::Cancel{cancelled, "ann"});
  EXPECT_EQ(log.state.adoption(listed), State::Adoption::kNever);
  log.apply(entry::Cancel{log.submit(4), "ann"});
  ASSERT_EQ(log.state.job(cancelled), nullptr);
  EXPECT_EQ(log.state.adoption(listed), State::Adoption::kNever);
  log.state = State::decode(log.state.encode()).value();
  EXPECT_EQ(log.state.adoption(listed), State::Adoption::kNever) << "from a snapshot too";
}

TEST_F(Recovered, AJobThatALostQuorumGaveIsAdoptedAfterAnotherRecoveryToo) {
  Log log;
  log.apply(registration(1, 4));
  log.submit(4);
  log.state.begin_epoch(2, log.index());
  log.state.begin_epoch(3, log.index());
  const entry::Adopt listed{host_id(1), pair_of(1), Token{2, 500},
                            detail_of(50, {member_of(1, 0, 4)}, 2)};
  ASSERT_TRUE(log.state.may_be_adopted(listed.token));
  EXPECT_NE(log.state.adoption(listed), State::Adoption::kNever);
}

TEST_F(OneLeader, OfTwoHellosOfOneStartTheSecondIsNotAnsweredByTheRegisterOfTheFirst) {
  commit = false;
  hear(1, hello_of(1), Nonce(1));
  Hello second = hello_of(1);
  second.stuck = {uuid_of(1, 0)};
  hear(1, second, Nonce(2));
  ASSERT_EQ(pending.size(), 1U) << "the second one's is the same proposal";
  commit = true;
  settle();
  EXPECT_TRUE(said<HelloReply>(1).empty());
  hear(1, second, Nonce(3));
  EXPECT_EQ(said<HelloReply>(1).size(), 1U);
  EXPECT_EQ(scheduler.state().host(host_id(1))->quarantined, second.stuck);
}

}  // namespace
}  // namespace muster::scheduler
