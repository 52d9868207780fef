// An operator's orders about jobs and hosts, entry by entry, in every state of a job.

#include <gtest/gtest.h>

#include <functional>

#include "scheduler/state/outcomes.h"
#include "scheduler/state/state.h"
#include "scheduler/why/explain.h"
#include "tests/scheduler/policy/queue_of.h"
#include "tests/scheduler/state/cluster.h"

namespace muster::scheduler {
namespace {

using namespace std::chrono_literals;  // NOLINT: literals only.
using namespace testing;               // NOLINT: the fixture's verbs

constexpr char kBy[] = "alice@a";

/// Two hosts of four GPUs and a gang of two over both.
class Orders : public ::testing::Test {
 protected:
  Orders() {
    log.apply(registration(1, 4));
    log.apply(registration(2, 4));
  }
  JobId submit(bool keep = false) {
    entry::Submit fact = submission("key" + std::to_string(log.index().value()), 2);
    fact.spec.limits.keep_when_isolated = keep;
    return log.apply(fact).job;
  }
  const Job& job(JobId id) { return *log.state.job(id); }
  ApplyResult say(JobId id, JobEvent word) {
    switch (word) {
      case JobEvent::kCancel:
        return log.apply(entry::Cancel{id, kBy});
      case JobEvent::kSuspend:
        return log.apply(entry::Suspend{id, kBy});
      case JobEvent::kResume:
        return log.apply(entry::Resume{id, kBy});
      case JobEvent::kRequeue:
        return log.apply(entry::Requeue{id, 0, kBy});
      case JobEvent::kSubmitted:
      case JobEvent::kDecided:
      case JobEvent::kStarted:
      case JobEvent::kStopLogged:
      case JobEvent::kCompleted:
      case JobEvent::kEndCancelled:
      case JobEvent::kEndSuspended:
      case JobEvent::kQueuedAgain:
      case JobEvent::kFailed:
        ADD_FAILURE() << "no operator says this";
    }
    return {};
  }
  void stop(const Token& token, Cause cause) { log.apply(entry::Stop{token, cause}); }
  /// Our own signals ended the ranks.
  void end_ranks(const Token& token) {
    log.finish(token, first, 0, true);
    log.finish(token, second, 0, true);
  }
  Token run(JobId id) { return log.run(id, {first, second}); }
  /// A job in this state, by the shortest way.
  JobId job_in(JobState state);

  Log log;
  const Member first = member_of(1, 0, 1);
  const Member second = member_of(2, 0, 1, 1);
};

JobId Orders::job_in(JobState state) {
  const JobId id = submit();
  switch (state) {
    case JobState::kQueued:
      break;
    case JobState::kScheduled:
      log.decide(id, {first, second});
      break;
    case JobState::kRunning:
      run(id);
      break;
    case JobState::kStopping:
      stop(run(id), Cause::kHostLost);
      break;
    case JobState::kSuspended:
      say(id, JobEvent::kSuspend);
      break;
    case JobState::kCompleted: {
      const Token token = run(id);
      log.finish(token, first, 0);
      log.finish(token, second, 0);
      break;
    }
    case JobState::kFailed: {
      const Token token = run(id);
      log.finish(token, first, 7);
      stop(token, Cause::kRankFailed);
      log.finish(token, second, 0, true);
      log.apply(entry::Tick{kClassWait});
      break;
    }
    case JobState::kCancelled:
      say(id, JobEvent::kCancel);
      break;
  }
  EXPECT_EQ(text_of(job(id).life.state), text_of(state));
  return id;
}

TEST_F(Orders, AHeldJobBeginsSuspendedAndIsResumed) {
  entry::Submit fact = submission("held", 2);
  fact.spec.is_held = true;
  const JobId id = log.apply(fact).job;
  EXPECT_EQ(job(id).life.state, JobState::kSuspended);
  EXPECT_EQ(log.state.pending(), 0U);
  EXPECT_EQ(log.apply(fact).job, id) << "the same key";
  EXPECT_EQ(say(id, JobEvent::kResume).rejected, "");
  EXPECT_EQ(job(id).life.state, JobState::kQueued);
  log.state.check_everything();
}

TEST_F(Orders, NamesThatSteerATerminalAreRefusedByTheLog) {
  entry::Submit fact = submission("forged", 2);
  fact.spec.name = "x\nstate failed";
  EXPECT_NE(log.apply(fact).rejected.find("is not a valid name for a job"), std::string::npos);
  fact.spec.name = "x";
  fact.spec.request.hosts = {"10.0.0.7"};
  EXPECT_NE(log.apply(fact).rejected.find("is not a valid name for a host"), std::string::npos);
  entry::Register host = registration(9, 1);
  host.name = "gpu:1";
  EXPECT_NE(log.apply(host).rejected.find("is not valid"), std::string::npos);
  entry::MakeTicket ticket;
  ticket.key = "key";
  ticket.uses = 1;
  ticket.ttl = 1h;
  ticket.host_name = "a b";
  EXPECT_NE(log.apply(ticket).rejected.find("is not a valid name for a host"), std::string::npos);
}

TEST_F(Orders, AreObeyedAsTheTableSaysInEveryState) {
  for (std::size_t number = 0; number < kJobStateCount; ++number) {
    const auto state = static_cast<JobState>(number);
    for (const JobEvent word :
         {JobEvent::kCancel, JobEvent::kSuspend, JobEvent::kResume, JobEvent::kRequeue}) {
      SCOPED_TRACE(std::string(text_of(state)) + "/" + std::string(text_of(word)));
      log = Log();
      log.apply(registration(1, 4));
      log.apply(registration(2, 4));
      const JobId id = job_in(state);
      const JobStep step = job_step(state, JobOrder::kNone, word);
      const ApplyResult result = say(id, word);
      EXPECT_EQ(result.job, id);
      EXPECT_EQ(text_of(job(id).life.state),
                text_of(step.rule == JobRule::kMove ? step.to : state));
      EXPECT_EQ(result.rejected.empty(), step.rule != JobRule::kRefused);
      if (step.rule == JobRule::kRefused) {
        EXPECT_EQ(result.rejected_as, ErrorCode::kConflict);
        EXPECT_EQ(result.rejected, refusal_text(id, state, JobOrder::kNone, word));
      }
      EXPECT_EQ(job(id).order_in_force() != JobOrder::kNone && !job(id).has_ended(),
                step.rule == JobRule::kOrder);
      EXPECT_GT(log.state.job_steps()(state, word), 0U);
      EXPECT_EQ(say(id, word).rejected.empty(), result.rejected.empty()) << "said twice";
    }
  }
  EXPECT_EQ(log.apply(entry::Suspend{JobId(99), kBy}).rejected_as, ErrorCode::kNotFound);
}

TEST_F(Orders, ASuspendedJobIsQueuedAgainAtItsOldPlace) {
  const JobId early = submit();
  const JobId late = submit();
  say(early, JobEvent::kSuspend);
  EXPECT_EQ(log.state.pending(), 1U);
  EXPECT_EQ(job(early).life.reason, "suspended by alice@a");
  Capacity capacity(log.state);
  EXPECT_EQ(why(log.state, capacity, PendingIndex(log.state).queue(), early)->text(),
            "suspended by alice@a; it waits for `muster resume 1`");
  say(early, JobEvent::kResume);
  EXPECT_EQ(queue_of(log.state), (std::vector<JobId>{early, late}));
}

TEST_F(Orders, SuspendedJobsCountAsQueuedOnes) {
  EXPECT_EQ(log.state.why_not(submission("one more", 1)), "");
  const JobId id = submit();
  say(id, JobEvent::kSuspend);
  Result<State> copy = State::decode(log.state.encode());
  ASSERT_TRUE(copy.has_value());
  copy->check_everything();
  EXPECT_EQ(copy->digest(), log.state.digest());
}

TEST_F(Orders, SuspendOfAReservedGangAbortsIt) {
  const JobId id = submit();
  const Token token = log.decide(id, {first, second});
  say(id, JobEvent::kSuspend);
  log.apply(entry::Abort{token, Cause::kSuspended, HostId()});
  EXPECT_EQ(job(id).life.state, JobState::kSuspended);
  EXPECT_TRUE(log.state.gpu_holders().empty());
  EXPECT_TRUE(job(id).life.left_out.empty()) << "nobody is to blame";
}

TEST_F(Orders, AStartThatWasFirstIsStopped) {
  const JobId id = submit();
  const Token token = log.decide(id, {first, second});
  log.ready(token);
  say(id, JobEvent::kSuspend);
  log.apply(entry::Start{token});
  EXPECT_EQ(job(id).life.state, JobState::kRunning);
  log.apply(entry::Abort{token, Cause::kSuspended, HostId()});
  EXPECT_EQ(job(id).life.state, JobState::kRunning) << "too late to abort";
  stop(token, Cause::kSuspended);
  end_ranks(token);
  EXPECT_EQ(job(id).life.state, JobState::kSuspended);
}

TEST_F(Orders, ASuspendedGangFreesItsGpusAndRunsAgainUnderAHigherToken) {
  const JobId id = submit();
  const Token token = run(id);
  say(id, JobEvent::kSuspend);
  stop(token, Cause::kSuspended);
  EXPECT_EQ(job(id).life.state, JobState::kStopping);
  log.finish(token, first, 0, true);
  EXPECT_EQ(job(id).life.state, JobState::kStopping);
  log.finish(token, second, 0, true);
  EXPECT_EQ(job(id).life.state, JobState::kSuspended);
  EXPECT_EQ(job(id).life.reason, "suspended by alice@a");
  EXPECT_TRUE(log.state.gpu_holders().empty());
  EXPECT_FALSE(log.state.needs_time());
  say(id, JobEvent::kResume);
  EXPECT_EQ(job(id).life.reason, "resumed by alice@a");
  const Token next = run(id);
  EXPECT_GT(next, token);
  EXPECT_EQ(job(id).life.attempts, 2U);
  log.finish(next, first, 0);
  log.finish(next, second, 0);
  EXPECT_EQ(job(id).life.state, JobState::kCompleted);
}

TEST_F(Orders, RanksThatHadEndedBeforeTheStopCompleteTheJob) {
  for (const JobEvent word : {JobEvent::kCancel, JobEvent::kSuspend, JobEvent::kRequeue}) {
    const JobId id = submit();
    const Token token = run(id);
    say(id, word);
    stop(token, Cause::kSuspended);
    log.finish(token, first, 0);
    log.finish(token, second, 0);
    EXPECT_EQ(job(id).life.state, JobState::kCompleted);
  }
}

TEST_F(Orders, SuspendWhileARankFailsUsesNoRetry) {
  const JobId id = submit();
  const Token token = run(id);
  log.finish(token, first, 7);
  stop(token, Cause::kRankFailed);
  say(id, JobEvent::kSuspend);
  log.finish(token, second, 0, true);
  EXPECT_EQ(job(id).life.state, JobState::kSuspended);
  EXPECT_EQ(job(id).life.failures.count, 0U);
}

TEST_F(Orders, SuspendEndsTheWaitForAVerdict) {
  const JobId id = submit();
  const Token token = run(id);
  log.finish(token, first, 7);
  stop(token, Cause::kRankFailed);
  log.finish(token, second, 0, true);
  EXPECT_EQ(job(id).life.state, JobState::kStopping) << "the failure is not classed yet";
  say(id, JobEvent::kSuspend);
  EXPECT_EQ(job(id).life.state, JobState::kSuspended);
  log.apply(entry::Tick{kClassWait});
  EXPECT_EQ(job(id).life.state, JobState::kSuspended);
}

TEST_F(Orders, CancelBeatsSuspendAndIsNotTakenBack) {
  const JobId id = submit();
  const Token token = run(id);
  say(id, JobEvent::kSuspend);
  say(id, JobEvent::kCancel);
  for (const JobEvent word : {JobEvent::kSuspend, JobEvent::kResume, JobEvent::kRequeue}) {
    EXPECT_EQ(say(id, word).rejected_as, ErrorCode::kConflict);
  }
  stop(token, Cause::kSuspended);
  end_ranks(token);
  EXPECT_EQ(job(id).life.state, JobState::kCancelled);
  EXPECT_EQ(job(id).life.reason, "cancelled by " + std::string(kBy));
}

TEST_F(Orders, ResumeTakesASuspendBack) {
  const JobId queued_again = submit();
  const Token token = run(queued_again);
  say(queued_again, JobEvent::kSuspend);
  stop(token, Cause::kSuspended);
  say(queued_again, JobEvent::kResume);
  end_ranks(token);
  EXPECT_EQ(job(queued_again).life.state, JobState::kQueued);
  EXPECT_EQ(job(queued_again).life.reason, "resumed");
  EXPECT_EQ(job(queued_again).life.failures.count + job(queued_again).life.lost_attempts, 0U);

  const JobId running = submit();
  const Token other = run(running);
  say(running, JobEvent::kSuspend);
  say(running, JobEvent::kResume);
  EXPECT_EQ(job(running).orders.order, JobOrder::kNone);
  log.finish(other, first, 0);
  log.finish(other, second, 0);
  EXPECT_EQ(job(running).life.state, JobState::kCompleted);
}

TEST_F(Orders, TheLastOfSuspendAndRequeueHolds) {
  const JobId id = submit();
  const Token token = run(id);
  say(id, JobEvent::kSuspend);
  say(id, JobEvent::kRequeue);
  stop(token, Cause::kSuspended);
  end_ranks(token);
  EXPECT_EQ(job(id).life.state, JobState::kQueued);
  EXPECT_EQ(job(id).life.reason, "requeued by alice@a");
}

TEST_F(Orders, ARequeueIsAboutOneAttempt) {
  const JobId id = submit();
  const Token token = run(id);
  EXPECT_TRUE(log.apply(entry::Requeue{id, 1, kBy}).rejected.empty());
  stop(token, Cause::kRequeued);
  end_ranks(token);
  EXPECT_EQ(job(id).life.state, JobState::kQueued);
  EXPECT_EQ(job(id).life.failures.count, 0U);
  EXPECT_EQ(job(id).life.lost_attempts, 0U);
  const Token next = run(id);
  EXPECT_GT(next, token);
  EXPECT_TRUE(log.apply(entry::Requeue{id, 1, kBy}).rejected.empty()) << "said again";
  EXPECT_EQ(job(id).orders.order, JobOrder::kNone) << "the second attempt runs on";
  log.apply(entry::Requeue{id, 2, kBy});
  EXPECT_EQ(job(id).orders.order, JobOrder::kRequeue);
}

TEST_F(Orders, ASnapshotKeepsAnOrder) {
  const JobId id = submit();
  const Token token = run(id);
  say(id, JobEvent::kSuspend);
  Result<State> copy = State::decode(log.state.encode());
  ASSERT_TRUE(copy.has_value());
  EXPECT_EQ(copy->digest(), log.state.digest());
  EXPECT_EQ(*copy->job(id), job(id));
  EXPECT_EQ(copy->job(id)->orders.order, JobOrder::kSuspend);
  log.apply(entry::Stop{token, Cause::kSuspended});
  copy->apply(log.index(), entry::Stop{token, Cause::kSuspended});
  copy->check_everything();
  EXPECT_EQ(copy->digest(), log.state.digest());
}

TEST_F(Orders, EveryOneIsAnEvent) {
  const JobId id = submit();
  run(id);
  const ApplyResult result = say(id, JobEvent::kSuspend);
  ASSERT_EQ(result.events.size(), 1U);
  EXPECT_EQ(result.events[0].name, "job_ordered");
  EXPECT_EQ(result.events[0].field("order"), "suspend");
  EXPECT_EQ(result.events[0].field("by"), kBy);
}

TEST_F(Orders, AFencedHostEndsWhatSilenceNeverEnds) {
  const JobId id = submit(true);
  const Token token = run(id);
  EXPECT_EQ(log.apply(entry::Fence{second.host, kBy}).rejected_as, ErrorCode::kConflict)
      << "it answers";
  log.observe(2, Verdict::kRefused);
  EXPECT_EQ(log.apply(entry::Fence{second.host, kBy}).rejected_as, ErrorCode::kConflict)
      << "its kernel answers";
  log.observe(2, Verdict::kSilent);
  EXPECT_TRUE(log.apply(entry::Fence{second.host, kBy}).rejected.empty());
  EXPECT_TRUE(log.state.is_over(token, second.host));
  EXPECT_TRUE(log.state.tokens_on(second.host).empty());
  stop(token, Cause::kHostLost);
  log.finish(token, first, 0, true);
  EXPECT_EQ(job(id).life.state, JobState::kQueued);
  EXPECT_EQ(job(id).life.lost_attempts, 1U);
  EXPECT_TRUE(log.apply(entry::Fence{second.host, kBy}).rejected.empty()) << "said again";
  EXPECT_EQ(log.apply(entry::Fence{host_id(9), kBy}).rejected_as, ErrorCode::kNotFound);
}

TEST_F(Orders, AFencedHostAbortsWhatIsReserved) {
  const JobId id = submit();
  const Token token = log.decide(id, {first, second});
  log.observe(2, Verdict::kSilent);
  log.apply(entry::Fence{second.host, kBy});
  EXPECT_EQ(log.state.attempt(token)->state, AttemptState::kEnded);
  EXPECT_EQ(job(id).life.state, JobState::kQueued);
  EXPECT_EQ(job(id).life.reason, "fenced");
}

}  // namespace
}  // namespace muster::scheduler
