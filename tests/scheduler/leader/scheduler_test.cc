// Scripted conversations with one leader: proposals come back as applied entries, rounds are
// answered, and the test plays the agents. Time is a number.

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/scheduler/leader/one_leader.h"

namespace muster::scheduler {
namespace {

using namespace testing;               // NOLINT: the fixture's verbs
using namespace std::chrono_literals;  // NOLINT

TEST_F(OneLeader, GangRunsAndCompletes) {
  const Token token = running_gang();
  EXPECT_EQ(job(id).life.state, JobState::kRunning);
  ASSERT_EQ(said<Start>(1).size(), 1U);
  EXPECT_EQ(said<Start>(2).back().master.port, 999);
  finish(1, token, 0);
  finish(2, token, 0);
  EXPECT_EQ(job(id).life.state, JobState::kCompleted);
  EXPECT_EQ(said<FinishAck>(1).size(), 1U);
}

TEST_F(OneLeader, ThirdGangWaitsHoldingNothing) {
  join(1);
  join(2);
  const JobId one = submit(4, "a");
  const JobId two = submit(2, "b");
  const JobId three = submit(4, "c");
  EXPECT_EQ(job(one).life.state, JobState::kScheduled);
  EXPECT_EQ(job(two).life.state, JobState::kScheduled);
  EXPECT_EQ(job(three).life.state, JobState::kQueued);
  EXPECT_EQ(scheduler.state().gpu_holders().size(), 6U);
}

TEST_F(OneLeader, AssignAndStartAreRepeatedUntilAnswered) {
  join(1);
  id = submit(1, "a");
  pass(4s);
  EXPECT_GE(said<Assign>(1).size(), 2U);
  const Token token = ready(1);
  pass(4s);
  EXPECT_GE(said<Start>(1).size(), 2U);
  hear(1, Renew{pair_of(1), {token}}, Nonce(5));
  pass(20s);
  forget();
  pass(30s);
  EXPECT_TRUE(said<Start>(1).empty());
}

TEST_F(OneLeader, AgentKilledBetweenReadyAndStartFreesTheGang) {
  join(1);
  join(2);
  id = submit(8, "gang");
  const Token token = ready(1);
  see(2, Verdict::kRefused);
  pass(11s);
  EXPECT_EQ(scheduler.state().attempt(token)->state, AttemptState::kEnded);
  EXPECT_EQ(scheduler.state().attempt(token)->cause, Cause::kDeadline);
  EXPECT_EQ(job(id).life.state, JobState::kQueued);
  EXPECT_TRUE(scheduler.state().gpu_holders().empty());
  EXPECT_EQ(said<Stop>(1).back().reason, "aborted");
}

TEST_F(OneLeader, AReservationOnALostHostGoesElsewhereAtOnceIfItFits) {
  join(1);
  join(2);
  id = submit(8, "gang");
  ready(1);
  see(2, Verdict::kSilent);
  EXPECT_EQ(job(id).life.attempts, 1U) << "there is nowhere else";
  join(3);
  pass(1s);
  EXPECT_EQ(job(id).life.attempts, 2U);
  EXPECT_EQ(said<Assign>(3).size(), 1U);
}

TEST_F(OneLeader, AReservationOnALateVoterGoesElsewhereIfItFits) {
  join(1);
  id = submit(2, "gang");
  give(input::VotersQuiet{{}, {host_id(1)}});
  EXPECT_EQ(job(id).life.attempts, 1U) << "there is nowhere else";
  join(2);
  pass(1s);
  EXPECT_EQ(job(id).life.attempts, 2U);
  EXPECT_EQ(said<Assign>(2).size(), 1U);
}

TEST_F(OneLeader, NothingNewIsPlacedOnAVoterThatDoesNotAnswer) {
  join(1);
  join(2);
  give(input::VotersQuiet{{host_id(1)}, {}});
  const JobId one = submit(4, "a");
  EXPECT_EQ(said<Assign>(2).size(), 1U);
  const JobId two = submit(4, "b");
  EXPECT_EQ(job(one).life.state, JobState::kScheduled);
  EXPECT_EQ(job(two).life.state, JobState::kQueued);
  give(input::VotersQuiet{});
  EXPECT_EQ(said<Assign>(1).size(), 1U) << "it answers again";
}

TEST_F(OneLeader, ALostDecideIsMadeAgainThoughMoreGpusCameMeanwhile) {
  join(1);
  commit = false;
  give(input::ClientSubmit{++request, "k", spec_of(4), "alice"});
  const std::string submitted = std::exchange(pending, {}).front();
  give(input::Applied{next_index(), submitted});
  ASSERT_EQ(pending.size(), 1U);
  pending.clear();  // As while the leader hands over and then leads on.
  commit = true;
  join(2);
  pass(1min);
  EXPECT_FALSE(job(JobId(1)).life.attempt_tokens.empty());
}

TEST_F(OneLeader, RestartedAgentLosesItsReservation) {
  join(1);
  id = submit(2, "a");
  const Token token = ready(1);
  EXPECT_EQ(scheduler.state().attempt(token)->state, AttemptState::kStarted);
  hear(1, hello_of(1, 2), Nonce(9));
  EXPECT_EQ(scheduler.state().attempt(token)->state, AttemptState::kEnded);
  EXPECT_TRUE(said<HelloReply>(1).back().registered);
  EXPECT_EQ(job(id).life.attempts, 2U) << "it runs again on the restarted host";
}

TEST_F(OneLeader, RefusalLeavesTheHostOut) {
  join(1);
  join(2);
  id = submit(4, "a");
  const Assign assign = said<Assign>(1).back();
  hear(1, Refuse{assign.token, assign.start, "gpu busy"});
  EXPECT_EQ(job(id).life.attempts, 2U);
  EXPECT_EQ(said<Assign>(2).size(), 1U);
}

TEST_F(OneLeader, LostHostStopsTheRestAndRequeuesUnderAHigherToken) {
  const Token token = running_gang();
  join(3);
  see(2, Verdict::kSilent);
  pass(4s);
  EXPECT_EQ(job(id).life.state, JobState::kRunning) << "patience";
  pass(2s);
  EXPECT_GE(said<Stop>(1).size(), 1U);
  finish(1, token, 0, true);
  EXPECT_EQ(job(id).life.state, JobState::kScheduled);
  EXPECT_GT(job(id).life.current, token);
  EXPECT_EQ(scheduler.state().gpu_holders().at(uuid_of(2, 0)).at(0).token, token) << "still held";
}

TEST_F(OneLeader, CondemnedHostExpiresOnlyAfterItsHold) {
  const Token token = running_gang();
  see(2, Verdict::kSilent);
  pass(15s);
  EXPECT_NE(scheduler.state().attempt(token)->find(host_id(2))->condemned, LogIndex());
  pass(10min);
  EXPECT_EQ(scheduler.state().gpu_holders().count(uuid_of(2, 0)), 1U);
  pass(1min);
  EXPECT_EQ(scheduler.state().gpu_holders().count(uuid_of(2, 0)), 0U);
  forget();
  hear(2, Finish{token, pair_of(1), {}, true});
  EXPECT_EQ(said<FinishAck>(2).size(), 1U) << "late: acknowledged, not counted";
}

TEST_F(OneLeader, StormCondemnsAndStopsNobody) {
  const Token token = running_gang();
  give(input::StormChanged{StormMode::kPartitionSuspected});
  see(2, Verdict::kSilent);
  pass(1min);
  EXPECT_EQ(scheduler.state().attempt(token)->state, AttemptState::kStarted);
  EXPECT_EQ(scheduler.state().attempt(token)->find(host_id(2))->condemned, LogIndex());
}

TEST_F(OneLeader, GangThatIsWhollySilentIsNotStopped) {
  const Token token = running_gang();
  see(1, Verdict::kSilent);
  see(2, Verdict::kSilent);
  pass(1min);
  EXPECT_EQ(scheduler.state().attempt(token)->state, AttemptState::kStarted);
}

TEST_F(OneLeader, PardonFollowsARenewalOfACondemnedGrant) {
  const Token token = running_gang();
  see(1, Verdict::kSilent);
  see(2, Verdict::kSilent);
  pass(15s);
  forget();
  hear(2, Renew{pair_of(1), {token}}, Nonce(77));
  EXPECT_TRUE(said<RenewAck>(2).back().tokens.empty());
  EXPECT_EQ(scheduler.state().attempt(token)->find(host_id(2))->condemned, LogIndex());
  see(2, Verdict::kAlive);
  hear(2, Renew{pair_of(1), {token}}, Nonce(78));
  EXPECT_EQ(said<RenewAck>(2).back().tokens, std::vector<Token>{token});
}

TEST_F(OneLeader, WhomTheLeaderHearsIsNotCondemnedOverAndOver) {
  const Token token = running_gang();
  see(1, Verdict::kSilent);
  see(2, Verdict::kSilent);
  pass(15s);
  for (std::uint64_t beat = 0; beat < 10; ++beat) {
    for (const std::uint64_t host : {1, 2}) {
      hear(host, Renew{pair_of(1), {token}}, Nonce(100 + beat));
    }
    if (beat > 0) {
      EXPECT_EQ(said<RenewAck>(2).back().tokens, std::vector<Token>{token}) << "beat " << beat;
    }
    pass(5s);
  }
  pass(15s);
  EXPECT_NE(scheduler.state().attempt(token)->find(host_id(2))->condemned, LogIndex())
      << "silent to the leader, too";
}

TEST_F(OneLeader, AHostThatRenewsWhatIsStoppingIsToldAtOnce) {
  const Token token = running_gang();
  see(1, Verdict::kSilent);
  pass(27s);
  ASSERT_EQ(scheduler.state().attempt(token)->state, AttemptState::kStopping);
  forget();
  hear(1, Renew{pair_of(1), {token}}, Nonce(77));
  ASSERT_EQ(said<Stop>(1).size(), 1U);
  EXPECT_EQ(said<Stop>(1).back().token, token);
}

TEST_F(OneLeader, RenewalIsAcknowledgedOnlyAfterARoundBegunLater) {
  const Token token = running_gang();
  answer_rounds = false;
  hear(1, Renew{pair_of(1), {token}}, Nonce(1));
  hear(2, Renew{pair_of(1), {token}}, Nonce(2));
  ASSERT_EQ(rounds.size(), 1U);
  EXPECT_TRUE(said<RenewAck>(1).empty());
  scheduler.step(now, input::MajorityRound{rounds[0]});
  settle();
  EXPECT_EQ(said<RenewAck>(1).size(), 1U);
  EXPECT_TRUE(said<RenewAck>(2).empty()) << "it came after that round began";
  ASSERT_EQ(rounds.size(), 2U);
  scheduler.step(now, input::MajorityRound{rounds[1]});
  settle();
  EXPECT_EQ(said<RenewAck>(2).size(), 1U);
}

TEST_F(OneLeader, RelayedRenewalsAreAnsweredTogetherAndAfterARoundBegunLater) {
  const Token token = running_gang();
  answer_rounds = false;
  const Renew renew{pair_of(1), {token}};
  hear(3, RelayedRenews{{{host_id(1), Nonce(11), renew}, {host_id(2), Nonce(12), renew}}});
  ASSERT_EQ(rounds.size(), 1U);
  hear(3, RelayedRenews{{{host_id(1), Nonce(13), renew}}});
  EXPECT_TRUE(said<RelayedAcks>(3).empty());
  scheduler.step(now, input::MajorityRound{rounds[0]});
  settle();
  ASSERT_EQ(said<RelayedAcks>(3).size(), 1U) << "one message for both hosts";
  const std::vector<RelayedAck> first = said<RelayedAcks>(3)[0].acks;
  ASSERT_EQ(first.size(), 2U) << "the later one waits for the later round";
  EXPECT_EQ(first[0], (RelayedAck{host_id(1), Nonce(11), RenewAck{{token}}}));
  EXPECT_EQ(first[1], (RelayedAck{host_id(2), Nonce(12), RenewAck{{token}}}));
  EXPECT_TRUE(said<RenewAck>(1).empty()) << "a relay carries them back";
}

TEST_F(OneLeader, CondemnOnItsWayAlreadyRefusesRenewals) {
  const Token token = silent_gang_with_condemns_in_flight();
  pass(1500ms);
  hear(2, Renew{pair_of(1), {token}}, Nonce(3));
  EXPECT_TRUE(said<RenewAck>(2).back().tokens.empty());
}

TEST_F(OneLeader, ACondemnThatWasLostRefusesNoRenewals) {
  const Token token = silent_gang_with_condemns_in_flight();
  const auto is_condemn = [](const std::string& bytes) {
    return kind_of(decode_entry(bytes)->entry) == EntryKind::kCondemn;
  };
  ASSERT_EQ(std::erase_if(pending, is_condemn), 2U) << "dropped while the leader hands over";
  commit = true;
  see(2, Verdict::kAlive);
  pass(6s);
  hear(2, Renew{pair_of(1), {token}}, Nonce(3));
  EXPECT_EQ(said<RenewAck>(2).back().tokens, std::vector<Token>{token});
}

TEST_F(OneLeader, HelloKillsWhatIsOverAndNothingItDoesNotKnow) {
  const Token token = running_gang();
  finish(1, token, 0);
  finish(2, token, 0);
  Hello hello = hello_of(1);
  const Token future{1, 1'000'000};
  hello.grants = {{token, GrantState::kRunning, {}, {}}, {future, GrantState::kRunning, {}, {}}};
  hear(1, hello, Nonce(4));
  EXPECT_EQ(said<HelloReply>(1).back().kill, std::vector<Token>{token});
  EXPECT_EQ(said<HelloReply>(1).back().floor, token);
}

TEST_F(OneLeader, ReusedGenerationIsToldToRaise) {
  join(1);
  Hello clone = hello_of(1);
  clone.start.start_id = StartId(1);
  hear(1, clone, Nonce(8));
  const HelloReply reply = said<HelloReply>(1).back();
  EXPECT_FALSE(reply.registered);
  EXPECT_EQ(reply.raise_to, Generation(2));
  EXPECT_EQ(reply.start_id, StartId(1));
}

TEST_F(OneLeader, NewLeaderDrivesEverythingFromTheLog) {
  join(1);
  join(2);
  const JobId reserved = submit(4, "a");
  const JobId started = submit(4, "b");
  ready(2);
  ASSERT_EQ(job(started).life.state, JobState::kRunning);
  forget();
  restart_with_snapshot();
  EXPECT_EQ(said<Assign>(1).size(), 1U);
  EXPECT_EQ(said<Start>(2).size(), 1U);
  EXPECT_EQ(job(reserved).life.state, JobState::kScheduled);
}

TEST_F(OneLeader, RestartedVoterKeepsTheTimerOfACondemnation) {
  const Token token = running_gang();
  see(2, Verdict::kSilent);
  pass(15s);
  ASSERT_NE(scheduler.state().attempt(token)->find(host_id(2))->condemned, LogIndex());
  restart_with_snapshot();
  pass(10min);
  EXPECT_EQ(scheduler.state().gpu_holders().count(uuid_of(2, 0)), 1U) << "the timer began again";
  pass(1min);
  EXPECT_EQ(scheduler.state().gpu_holders().count(uuid_of(2, 0)), 0U);
}

TEST_F(OneLeader, RankFailureStopsTheRestAtOnce) {
  const Token token = running_gang();
  const Member member = scheduler.state().attempt(token)->find(host_id(1))->member;
  std::vector<RankResult> first{results_of(member, 3)[0]};
  hear(1, Finish{token, pair_of(1), first, false}, Nonce(31));
  EXPECT_EQ(said<Stop>(2).size(), 1U);
  EXPECT_EQ(said<FinishAck>(1).size(), 1U);
  hear(1, Finish{token, pair_of(1), first, false}, Nonce(32));
  EXPECT_EQ(messages.back().nonce, Nonce(32)) << "a repeated early word is acknowledged as such";
  finish(1, token, 3);
  finish(2, token, 0, true);
  EXPECT_EQ(job(id).life.state, JobState::kStopping) << "a verdict may still come";
  pass(7s);
  EXPECT_EQ(job(id).life.state, JobState::kFailed);
  EXPECT_EQ(job(id).life.exit_code, 3);
}

TEST_F(OneLeader, RankFailureBesideALostHostUsesNoRetry) {
  const Token token = running_gang();
  finish(1, token, 1);
  EXPECT_EQ(job(id).life.state, JobState::kStopping);
  see(2, Verdict::kSilent);
  EXPECT_EQ(job(id).life.state, JobState::kQueued);
  EXPECT_EQ(job(id).life.failures.count, 0U);
}

TEST_F(OneLeader, TimeLimitStopsAndFailsWith124) {
  join(1);
  JobSpec spec = spec_of(1);
  spec.limits.time_limit = 10s;
  give(input::ClientSubmit{1, "limited", spec, "alice"});
  const Token token = ready(1);
  pass(12s);
  EXPECT_EQ(said<Stop>(1).back().reason, "time_limit");
  finish(1, token, 0, true);
  EXPECT_EQ(job(JobId(1)).life.exit_code, 124);
}

TEST_F(OneLeader, CancelReservedAbortsAndCancelRunningStops) {
  join(1);
  const JobId reserved = submit(1, "a");
  const JobId running = submit(1, "b");
  const Token token = said<Assign>(1).back().token;
  hear(1, Ready{token, pair_of(1), {}});
  give(input::ClientOrder{50, entry::Cancel{reserved, "alice"}});
  give(input::ClientOrder{51, entry::Cancel{running, "alice"}});
  EXPECT_EQ(job(reserved).life.state, JobState::kCancelled);
  EXPECT_EQ(job(running).life.state, JobState::kStopping);
  finish(1, token, 0, true);
  EXPECT_EQ(job(running).life.state, JobState::kCancelled);
}

TEST_F(OneLeader, AQuarantinedGpuIsOfferedAgainWhenItsAgentSaysSo) {
  join(1);
  submit(2, "a");
  const Assign assign = said<Assign>(1).back();
  hear(1, Refuse{assign.token, assign.start, std::string(kReasonStuck)});
  const auto free = [&] {
    return scheduler.state().free_gpus(*scheduler.state().host(host_id(1))).size();
  };
  EXPECT_EQ(free(), 2U);
  Hello hello = hello_of(1);
  hello.stuck = {uuid_of(1, 0)};
  hear(1, hello);
  EXPECT_EQ(free(), 3U) << "only one of the two is stuck";
  hear(1, hello_of(1));
  EXPECT_EQ(free(), 4U) << "quarantined until a reboot";
}

TEST_F(OneLeader, AnObserveDoesNotWriteBackWhatARegisterOnItsWayChanges) {
  join(1);
  commit = false;
  Hello hello = hello_of(1);
  hello.stuck = {uuid_of(1, 0)};
  hear(1, hello);
  see(1, Verdict::kSilent);
  commit = true;
  settle();
  const HostRecord& record = *scheduler.state().host(host_id(1));
  EXPECT_EQ(record.quarantined, hello.stuck);
  EXPECT_EQ(record.verdict, Verdict::kSilent);
}

TEST_F(OneLeader, ImpossibleIsRefusedOnlyOnceHostsAreKnown) {
  submit(99, "early");
  EXPECT_FALSE(replies.back().error.has_value());
  join(1);
  submit(99, "late");
  ASSERT_TRUE(replies.back().error.has_value());
  EXPECT_EQ(replies.back().error->code, ErrorCode::kImpossible);
}

TEST_F(OneLeader, AnUnknownTypeNamesThoseThereAre) {
  join(1);
  const std::string type = scheduler.state().host(host_id(1))->gpu_type;
  entry::Submit wrong = submission("typo", 1);
  wrong.spec.request.gpu_types = {type + "x"};
  give(input::ClientSubmit{++request, "typo", wrong.spec, "alice"});
  ASSERT_TRUE(replies.back().error.has_value());
  EXPECT_EQ(replies.back().error->code, ErrorCode::kImpossible);
  EXPECT_EQ(replies.back().error->text,
            "no host has GPUs of type " + type + "x; there are: " + type);
}

TEST_F(OneLeader, SubmitsThatAreNotInTheLogAreBoundedInBytes) {
  join(1);
  commit = false;
  entry::Submit large = submission("", 1);
  large.spec.command.argv = {std::string(kCommandBytesMax, 'x')};
  const auto say = [&](std::uint64_t number) {
    replies.clear();
    give(input::ClientSubmit{++request, "key" + std::to_string(number), large.spec, "alice"});
    return replies.empty();
  };
  std::uint64_t taken = 0;
  while (say(taken) && taken < 1000) {
    ++taken;
  }
  EXPECT_LT(taken, kSubmitBytesMax / kCommandBytesMax);
  EXPECT_GT(taken, kSubmitBytesMax / kCommandBytesMax / 2);
  EXPECT_EQ(replies.back().error->code, ErrorCode::kUnavailable);
  EXPECT_TRUE(say(0)) << "that one is on its way";
  commit = true;
  settle();
  EXPECT_FALSE(say(taken));
  EXPECT_FALSE(replies.back().error.has_value()) << "room again";
}

TEST_F(OneLeader, NothingIsImpossibleWhileLiveHostsHaveJustNotRegistered) {
  join(1);
  see(2, Verdict::kAlive);
  EXPECT_NE(submit(8, "a"), JobId()) << "a cluster that has just formed";
  pass(kRegistrationWait);
  submit(8, "b");
  ASSERT_TRUE(replies.back().error.has_value());
  EXPECT_EQ(replies.back().error->code, ErrorCode::kImpossible);
  join(2);
  EXPECT_NE(submit(8, "b"), JobId());
}

TEST_F(OneLeader, ANameThatIsTakenIsRefusedWithoutAnEntry) {
  join(1);
  Hello same = hello_of(9);
  same.name = "host1";
  commit = false;
  hear(9, same, Nonce(5));
  EXPECT_TRUE(pending.empty()) << "it asks again every second";
  ASSERT_EQ(said<HelloReply>(9).size(), 1U);
  EXPECT_FALSE(said<HelloReply>(9).back().registered);
}

TEST_F(OneLeader, AHostThatIsOffKeepsItsName) {
  join(1);
  see(1, Verdict::kRefused);
  Hello same = hello_of(9);
  same.name = "host1";
  hear(9, same, Nonce(5));
  EXPECT_FALSE(said<HelloReply>(9).back().registered);
  EXPECT_TRUE(said<HelloReply>(9).back().is_name_taken);
  hear(1, hello_of(1, 2), Nonce(6));
  EXPECT_TRUE(said<HelloReply>(1).back().registered);
}

TEST_F(OneLeader, AStartUnderTheNameOfAnotherIsRefused) {
  join(1);
  join(2);
  Hello renamed = hello_of(2, 2);
  renamed.name = "host1";
  hear(2, renamed, Nonce(5));
  EXPECT_TRUE(said<HelloReply>(2).back().is_name_taken);
  EXPECT_EQ(said<HelloReply>(2).back().raise_to, Generation());
  EXPECT_EQ(scheduler.state().host(host_id(2))->start, pair_of(1));
}

TEST_F(OneLeader, LosingLeadershipAnswersUnknownAndThenUnavailable) {
  commit = false;
  submit(1, "a");
  EXPECT_TRUE(replies.empty());
  give(input::LeadershipChanged{false, false});
  ASSERT_EQ(replies.size(), 1U);
  EXPECT_EQ(replies[0].error->code, ErrorCode::kUnknown);
  submit(1, "b");
  EXPECT_EQ(replies.back().error->code, ErrorCode::kUnavailable);
}

TEST_F(OneLeader, SameKeyGetsTheSameJobAfterASnapshot) {
  const JobId first = submit(1, "key");
  restart_with_snapshot();
  EXPECT_EQ(submit(1, "key"), first);
}

TEST_F(OneLeader, AKeyOfAnotherJobIsRefusedAndTheJobNamed) {
  const JobId first = submit(1, "key");
  EXPECT_EQ(submit(2, "key"), JobId());
  ASSERT_TRUE(replies.back().error.has_value());
  EXPECT_EQ(replies.back().error->code, ErrorCode::kConflict);
  EXPECT_NE(replies.back().error->text.find("job " + std::to_string(first.value())),
            std::string::npos);
  EXPECT_NE(replies.back().error->text.find("with another request of"), std::string::npos)
      << replies.back().error->text;
  EXPECT_EQ(submit(1, "key"), first);
  JobSpec same = spec_of(1);
  same.user = "root";
  give(input::ClientSubmit{++request, "key", same, "root"});
  ASSERT_TRUE(replies.back().error.has_value());
  EXPECT_NE(replies.back().error->text.find("with another user"), std::string::npos)
      << replies.back().error->text;
  EXPECT_EQ(scheduler.state().jobs().size(), 1U);
}

TEST_F(OneLeader, AKeyOfAnotherJobUnderWayIsRefused) {
  commit = false;
  submit(1, "key");
  submit(1, "key");
  EXPECT_TRUE(replies.empty());
  submit(2, "key");
  ASSERT_EQ(replies.size(), 1U);
  EXPECT_EQ(replies[0].error->code, ErrorCode::kConflict);
  commit = true;
  settle();
  ASSERT_EQ(replies.size(), 3U);
  EXPECT_EQ(replies[1].job, JobId(1));
  EXPECT_EQ(replies[2].job, JobId(1));
}

TEST_F(OneLeader, ARefusalIsToldOnceAMinuteAndAnsweredEachTime) {
  join(1);
  Hello clone = hello_of(1);
  clone.start.start_id = StartId(1);
  const auto told = [this] {
    return std::count_if(events.begin(), events.end(),
                         [](const Event& each) { return each.name == "hello_refused"; });
  };
  forget();
  for (int i = 0; i < 30; ++i) {
    hear(1, clone, Nonce(8));
    pass(1s);
  }
  EXPECT_EQ(told(), 1);
  EXPECT_EQ(said<HelloReply>(1).size(), 30U);
  EXPECT_FALSE(said<HelloReply>(1).back().why.empty());
  pass(kRefusalToldAgain);
  hear(1, clone, Nonce(8));
  EXPECT_EQ(told(), 2);
}

TEST_F(OneLeader, UnknownEntryHalts) {
  give(input::Applied{next_index(), gossip::Encoder().array(2).u64(99).u64(1).take()});
  EXPECT_FALSE(halted.empty());
  EXPECT_TRUE(scheduler.is_halted());
}

TEST_F(OneLeader, IdleClusterWritesNothing) {
  join(1);
  const LogIndex before = index;
  pass(10min);
  EXPECT_EQ(index, before);
  EXPECT_EQ(scheduler.next_deadline(), kNever);
}

}  // namespace
}  // namespace muster::scheduler
