// The replicated state: jobs, keys, retries, hosts and snapshots, driven entry by entry.

#include "scheduler/state/state.h"

#include <gtest/gtest.h>

#include "gossip/base/rng.h"
#include "scheduler/protocol/host_fault.h"
#include "scheduler/state/job_moves.h"
#include "scheduler/state/outcomes.h"
#include "tests/scheduler/state/cluster.h"

namespace muster::scheduler {
namespace {

using namespace std::chrono_literals;  // NOLINT: literals only.
using namespace testing;               // NOLINT: the fixture's verbs

/// Two hosts of four GPUs and a gang of two over both.
class GangOfTwo : public ::testing::Test {
 protected:
  GangOfTwo() {
    log.apply(registration(1, 4));
    log.apply(registration(2, 4));
  }
  JobId submit(std::uint32_t retries = 0) {
    entry::Submit fact = submission("gang", 2);
    fact.spec.retry.retries = retries;
    return log.apply(fact).job;
  }
  Token run(JobId job) { return log.run(job, {first, second}); }
  const Job& job(JobId id) { return *log.state.job(id); }
  /// Rank 0 exits 7, the other is stopped: the attempt is over.
  void fail_first(const Token& token) {
    log.finish(token, first, 7);
    log.apply(entry::Stop{token, Cause::kRankFailed});
    log.finish(token, second, 0, true);
  }

  Log log;
  const Member first = member_of(1, 0, 1);
  const Member second = member_of(2, 0, 1, 1);
};

TEST_F(GangOfTwo, CompletesWhenEveryRankExitsZero) {
  const JobId id = submit();
  const Token token = run(id);
  EXPECT_EQ(job(id).life.state, JobState::kRunning);
  log.finish(token, first, 0);
  EXPECT_EQ(log.state.free_gpus(*log.state.host(first.host)).size(), 4U);
  log.finish(token, second, 0);
  EXPECT_EQ(job(id).life.state, JobState::kCompleted);
  EXPECT_TRUE(log.state.gpu_holders().empty());
}

TEST_F(GangOfTwo, OneKeyGivesOneJob) {
  const JobId id = submit();
  EXPECT_EQ(submit(), id);
  EXPECT_EQ(log.state.jobs().size(), 1U);
}

TEST_F(GangOfTwo, KeysAreForgottenAfterSevenDaysOfClusterTime) {
  const JobId id = submit();
  for (int hour = 0; hour <= 24 * 7; ++hour) {
    log.apply(entry::Tick{std::chrono::hours(1)});
  }
  EXPECT_NE(submit(), id);
}

TEST_F(GangOfTwo, ProgramFailureUsesRetriesAndKeepsItsCode) {
  const JobId id = submit(1);
  for (int attempt = 0; attempt < 2; ++attempt) {
    const Token token = run(id);
    log.finish(token, first, 7);
    log.apply(entry::Stop{token, Cause::kRankFailed});
    EXPECT_EQ(job(id).life.state, JobState::kStopping);
    log.finish(token, second, 0, true);
    log.apply(entry::Tick{kClassWait});
    log.apply(entry::Tick{kFirstPause});
  }
  EXPECT_EQ(job(id).life.state, JobState::kFailed);
  EXPECT_EQ(job(id).life.exit_code, 7);
  EXPECT_EQ(job(id).life.attempts, 2U);
}

TEST_F(GangOfTwo, AFailureIsTheLostHostsWhenItsVerdictComesTwoSecondsLater) {
  const JobId id = submit();
  fail_first(run(id));
  EXPECT_EQ(job(id).life.state, JobState::kStopping) << "classed before a verdict could come";
  EXPECT_TRUE(log.state.needs_time());
  log.apply(entry::Tick{2s});
  log.observe(2, Verdict::kSilent);
  EXPECT_EQ(job(id).life.state, JobState::kQueued);
  EXPECT_EQ(job(id).life.reason, "host_lost");
  EXPECT_EQ(job(id).life.failures.count, 0U);
}

TEST_F(GangOfTwo, APlainFailureIsClassedWhenTheWaitIsOver) {
  const JobId id = submit();
  fail_first(run(id));
  log.apply(entry::Tick{5s});
  EXPECT_EQ(job(id).life.state, JobState::kStopping);
  EXPECT_TRUE(log.state.gpu_holders().empty()) << "its GPUs do not wait";
  log.apply(entry::Tick{1s});
  EXPECT_EQ(job(id).life.state, JobState::kFailed);
  EXPECT_EQ(job(id).life.reason, "rank 0 exited 7");
  EXPECT_EQ(job(id).life.exit_code, 7);
  EXPECT_FALSE(log.state.needs_time());
  log.observe(2, Verdict::kSilent);
  EXPECT_EQ(job(id).life.state, JobState::kFailed) << "a verdict after the wait changes nothing";
}

TEST(Reasons, AKillThatItsHostExplainsIsNotGuessedAt) {
  Log log;
  log.apply(registration(1, 4));
  for (const std::string detail : {"", "out of memory: 71M of 64M"}) {
    const JobId id = log.submit(1);
    const Member alone = member_of(1, 0, 1);
    const Token token = log.run(id, {alone});
    std::vector<RankResult> results = results_of(alone, 9);
    results[0].kind = RankResult::Kind::kSignalled;
    results[0].detail = detail;
    log.apply(entry::Finish{token, alone.host, alone.start, results, true});
    log.apply(entry::Stop{token, Cause::kRankFailed});
    EXPECT_EQ(log.state.job(id)->life.reason,
              detail.empty()
                  ? "rank 0 died of signal 9, which Muster did not send: memory may have run out"
                  : "rank 0 died of signal 9");
  }
}

TEST_F(GangOfTwo, AVerdictTakenBackBeforeTheFailureIsClassedCounts) {
  log.apply(registration(3, 4));
  const Member third = member_of(3, 0, 1, 2);
  const JobId id = log.submit(3);
  const Token token = log.run(id, {first, second, third});
  log.finish(token, first, 7);
  log.apply(entry::Stop{token, Cause::kRankFailed});
  log.observe(2, Verdict::kSilent);
  log.observe(2, Verdict::kAlive);
  log.finish(token, second, 0, true);
  log.finish(token, third, 0, true);
  EXPECT_EQ(job(id).life.state, JobState::kQueued);
  EXPECT_EQ(job(id).life.failures.count, 0U);
}

TEST_F(GangOfTwo, AFailureOnTheOnlyHostOfAGangIsClassedAtOnce) {
  const JobId id = submit();
  const Member alone = member_of(1, 0, 2);
  const Token token = log.run(id, {alone});
  log.finish(token, alone, 7);
  log.apply(entry::Stop{token, Cause::kRankFailed});
  EXPECT_EQ(job(id).life.state, JobState::kFailed);
}

TEST_F(GangOfTwo, CancelEndsTheWaitOfAFailure) {
  const JobId id = submit(3);
  fail_first(run(id));
  EXPECT_TRUE(log.apply(entry::Cancel{id, "alice"}).rejected.empty());
  EXPECT_EQ(job(id).life.state, JobState::kCancelled);
  EXPECT_FALSE(log.state.needs_time());
}

TEST_F(GangOfTwo, ASnapshotKeepsTheWaitOfAFailure) {
  const JobId id = submit();
  fail_first(run(id));
  Result<State> copy = State::decode(log.state.encode());
  ASSERT_TRUE(copy.has_value());
  copy->check_everything();
  for (const Duration passed : {5s, 1s}) {
    log.apply(entry::Tick{passed});
    copy->apply(log.index(), entry::Tick{passed});
    EXPECT_EQ(copy->digest(), log.state.digest());
  }
  EXPECT_EQ(copy->job(id)->life.state, JobState::kFailed);
}

TEST_F(GangOfTwo, CommandNotFoundIsNotTriedAgain) {
  const JobId id = submit(5);
  const Token token = run(id);
  std::vector<RankResult> results = results_of(first, 127);
  results[0].kind = RankResult::Kind::kNotStarted;
  results[0].detail = "no such command";
  log.apply(entry::Finish{token, first.host, first.start, results, true});
  log.apply(entry::Stop{token, Cause::kRankFailed});
  log.finish(token, second, 0, true);
  EXPECT_EQ(job(id).life.state, JobState::kFailed);
  EXPECT_EQ(job(id).life.exit_code, 127);
  EXPECT_NE(job(id).life.reason.find("no such command"), std::string::npos);
}

TEST_F(GangOfTwo, AHostThatCannotStartARankUsesNoRetryAndIsLeftOut) {
  const JobId id = submit();
  const Token token = run(id);
  std::vector<RankResult> results = results_of(first, kHostFault);
  results[0].kind = RankResult::Kind::kNotStarted;
  results[0].detail = "fork: too many processes";
  log.apply(entry::Finish{token, first.host, first.start, results, true});
  log.apply(entry::Stop{token, Cause::kHostLost});
  log.finish(token, second, 1);  // It missed the first.
  EXPECT_EQ(job(id).life.state, JobState::kQueued);
  EXPECT_EQ(job(id).life.failures.count, 0U);
  EXPECT_NE(job(id).life.reason.find("too many processes"), std::string::npos);
  ASSERT_EQ(job(id).life.left_out.size(), 1U);
  EXPECT_EQ(job(id).life.left_out[0].host, first.host);
}

TEST_F(GangOfTwo, LostHostRequeuesUnderAHigherTokenAndUsesNoRetry) {
  const JobId id = submit();
  const Token old = run(id);
  log.observe(2, Verdict::kSilent);
  log.apply(entry::Stop{old, Cause::kHostLost});
  EXPECT_EQ(job(id).life.state, JobState::kStopping);
  log.finish(old, first, 0, true);
  EXPECT_EQ(job(id).life.state, JobState::kQueued);
  EXPECT_EQ(job(id).life.failures.count, 0U);
  EXPECT_EQ(log.state.gpu_holders().count(uuid_of(2, 0)), 1U) << "the silent host's GPU stays held";
  const Token newer = log.run(id, {member_of(1, 0, 2)});
  EXPECT_GT(newer, old);
  // The old attempt ends late; the job is not queued a second time.
  log.finish(old, second, 0, true);
  EXPECT_EQ(job(id).life.state, JobState::kRunning);
  EXPECT_EQ(job(id).life.current, newer);
}

TEST_F(GangOfTwo, SilenceAloneNeverAllowsAnotherAttempt) {
  const JobId id = submit();
  const Token token = run(id);
  log.finish(token, first, 0);
  log.observe(2, Verdict::kSilent);
  log.apply(entry::Stop{token, Cause::kHostLost});
  EXPECT_EQ(job(id).life.state, JobState::kStopping) << "the other rank may have succeeded";
  log.finish(token, second, 0);
  EXPECT_EQ(job(id).life.state, JobState::kCompleted);
}

TEST_F(GangOfTwo, LoggedFailureNeverTurnsIntoSuccess) {
  const JobId id = submit();
  const Token token = run(id);
  log.apply(entry::Finish{token, first.host, first.start, results_of(first, 1), false});
  log.finish(token, first, 0);
  log.finish(token, second, 0);
  EXPECT_NE(job(id).life.state, JobState::kCompleted);
}

TEST_F(GangOfTwo, ExitZeroAfterOurSignalIsNoSuccess) {
  const JobId id = submit();
  const Token token = run(id);
  log.apply(entry::Stop{token, Cause::kCancelled});
  log.finish(token, first, 0, true);
  log.finish(token, second, 0, true);
  EXPECT_EQ(job(id).life.state, JobState::kCancelled);
}

TEST_F(GangOfTwo, LateFinishAfterExpireIsIgnored) {
  const JobId id = submit();
  const Token token = run(id);
  log.observe(2, Verdict::kSilent);
  log.apply(entry::Condemn{second.host, {token}});
  const LogIndex condemn = log.index();
  log.apply(entry::Stop{token, Cause::kHostLost});
  log.finish(token, first, 0, true);
  EXPECT_TRUE(log.apply(entry::Expire{second.host, token, condemn}).rejected.empty());
  EXPECT_TRUE(log.state.gpu_holders().empty());
  const std::uint64_t before = log.state.edges()[Edge::kIgnoredEnded];
  log.finish(token, second, 0);
  EXPECT_EQ(log.state.edges()[Edge::kIgnoredEnded], before + 1);
  EXPECT_EQ(job(id).life.state, JobState::kQueued);
}

TEST_F(GangOfTwo, CancelWhileQueuedEndsAtOnceAndTwiceIsTheSame) {
  const JobId id = submit();
  EXPECT_TRUE(log.apply(entry::Cancel{id, "alice"}).rejected.empty());
  EXPECT_EQ(job(id).life.state, JobState::kCancelled);
  EXPECT_TRUE(log.apply(entry::Cancel{id, "alice"}).rejected.empty());
  EXPECT_EQ(log.apply(entry::Cancel{JobId(99), "alice"}).rejected_as, ErrorCode::kNotFound);
}

TEST_F(GangOfTwo, RefusingHostIsLeftOutForAMinute) {
  const JobId id = submit();
  const Token token = log.decide(id, {first, second});
  log.apply(entry::Abort{token, Cause::kRefused, second.host});
  ASSERT_EQ(job(id).life.left_out.size(), 1U);
  EXPECT_EQ(job(id).life.left_out[0].host, second.host);
  log.apply(entry::Tick{std::chrono::seconds(61)});
  EXPECT_TRUE(job(id).life.left_out.empty());
}

TEST_F(GangOfTwo, DecideIsCheckedAgainAtApply) {
  const JobId id = submit();
  EXPECT_TRUE(log.decide(id, {first}).is_none()) << "not whole";
  EXPECT_TRUE(log.decide(id, {first, member_of(1, 1, 1, 1)}).is_none()) << "one host twice";
  EXPECT_TRUE(log.decide(id, {first, member_of(2, 0, 1, 1, 9)}).is_none()) << "other pair";
  EXPECT_TRUE(log.decide(id, {first, member_of(2, 8, 1, 1)}).is_none()) << "unknown gpu";
  log.observe(2, Verdict::kSilent);
  EXPECT_TRUE(log.decide(id, {first, second}).is_none()) << "silent host";
  log.observe(2, Verdict::kAlive);
  EXPECT_FALSE(log.decide(id, {first, second}).is_none());
  const JobId other = log.submit(1);
  EXPECT_TRUE(log.decide(other, {first}).is_none()) << "overlap";
}

TEST_F(GangOfTwo, RegistrationNeedsAHigherGeneration) {
  entry::Register clone = registration(1, 4);
  clone.start.start_id = StartId(1);
  EXPECT_EQ(log.apply(clone).rejected_as, ErrorCode::kConflict);
  EXPECT_TRUE(log.apply(registration(1, 4, 2)).rejected.empty());
  EXPECT_FALSE(log.apply(registration(1, 4, 1)).rejected.empty());
}

TEST_F(GangOfTwo, ANameIsFreeOnceItsHostWasRemovedAndThenAnothers) {
  entry::Register other = registration(9, 4);
  other.name = "host1";
  log.observe(1, Verdict::kSilent);
  EXPECT_NE(log.apply(other).rejected.find("muster hosts remove host1"), std::string::npos);
  entry::RemoveHost removal;
  removal.host = host_id(1);
  EXPECT_TRUE(log.apply(removal).rejected.empty());
  EXPECT_TRUE(log.apply(other).rejected.empty());
  log.observe(1, Verdict::kAlive);
  EXPECT_FALSE(log.apply(registration(1, 4, 2)).rejected.empty());
  other.start = pair_of(2);
  EXPECT_TRUE(log.apply(other).rejected.empty());
}

TEST_F(GangOfTwo, RebootEndsGrantsWithoutExitEvidence) {
  const JobId id = submit();
  const Token token = run(id);
  entry::Register reboot = registration(2, 4, 2);
  reboot.boot_id = "boot-2";
  reboot.live = {{token, false}};
  log.apply(reboot);
  EXPECT_EQ(log.state.attempt(token)->find(second.host)->end, MemberEnd::kLost);
  log.apply(entry::Stop{token, Cause::kHostLost});
  log.finish(token, first, 0, true);
  EXPECT_EQ(job(id).life.state, JobState::kQueued);
}

TEST_F(GangOfTwo, SnapshotRoundTripsToAnEqualDigest) {
  const JobId id = submit(3);
  const Token token = run(id);
  log.finish(token, first, 7);
  log.submit(8);
  log.observe(2, Verdict::kSilent);
  log.apply(entry::Condemn{second.host, {token}});
  log.apply(entry::Cancel{log.submit(1), "bob"});
  Result<State> copy = State::decode(log.state.encode());
  ASSERT_TRUE(copy.has_value()) << copy.error().text;
  EXPECT_EQ(copy->digest(), log.state.digest());
  copy->check_everything();
  EXPECT_EQ(copy->job_of_key("gang"), id);
  const entry::Stop next{token, Cause::kRankFailed};
  copy->apply(log.index().next(), next);
  log.apply(next);
  EXPECT_EQ(copy->digest(), log.state.digest());
}

TEST_F(GangOfTwo, DamagedSnapshotsAreRefused) {
  run(submit());
  const std::string bytes = log.state.encode();
  for (std::size_t size = 0; size + 1 < bytes.size(); size += 3) {
    const Result<State> cut = State::decode(std::string_view(bytes).substr(0, size));
    if (cut) {
      EXPECT_NE(cut->digest(), log.state.digest());
    }
  }
  Rng rng(3);
  for (int round = 0; round < 2'000; ++round) {
    std::string mutated = bytes;
    mutated[rng.below(mutated.size())] = static_cast<char>(rng.below(256));
    (void)State::decode(mutated).has_value();
  }
}

}  // namespace
}  // namespace muster::scheduler
