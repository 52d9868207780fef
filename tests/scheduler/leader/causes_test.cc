// The causes of an attempt's end, as people read them: lost things, and others.

#include "scheduler/state/job_moves.h"
#include "tests/scheduler/leader/one_leader.h"

namespace muster::scheduler {
namespace {

using namespace testing;               // NOLINT: the fixture's verbs
using namespace std::chrono_literals;  // NOLINT

class Causes : public OneLeader {
 protected:
  /// The supervisor was killed, and the agent reports it.
  void lose_ranks(std::uint64_t host, const Token& token) {
    const Member member = scheduler.state().attempt(token)->find(host_id(host))->member;
    std::vector<RankResult> results = results_of(member, 0);
    for (RankResult& result : results) {
      result.kind = RankResult::Kind::kLost;
      result.detail = "supervisor ended";
    }
    hear(host, Finish{token, member.start, results, true});
  }
  std::string state_of(JobId number) { return std::string(text_of(job(number).life.state)); }
};

TEST_F(Causes, AKilledSupervisorIsNoLostHost) {
  join(1);
  const JobId number = submit(2, "job");
  lose_ranks(1, ready(1));
  EXPECT_EQ(state_of(number), "queued");
  EXPECT_EQ(job(number).life.reason, "ranks_lost: rank 0 on host host1: supervisor ended");
  EXPECT_EQ(job(number).life.failures.count, 0U) << "no retry of the user is used";
  EXPECT_TRUE(job(number).pauses()) << "what killed it is where it was";
  pass(3s);
  EXPECT_EQ(job(number).life.attempts, 2U);
}

TEST_F(Causes, AnAgentThatIsDownIsNoLostHost) {
  const Token token = running_gang();
  see(2, Verdict::kRefused);
  pass(SchedulerConfig().agent_down_patience - 1s);
  EXPECT_EQ(state_of(id), "running");
  pass(3s);
  EXPECT_EQ(state_of(id), "stopping");
  finish(1, token, 0, true);
  EXPECT_EQ(state_of(id), "queued");
  EXPECT_EQ(job(id).life.reason, "agent_down: host host2");
}

TEST_F(Causes, ASilentHostIsLost) {
  const Token token = running_gang();
  see(2, Verdict::kSilent);
  pass(8s);
  finish(1, token, 0, true);
  EXPECT_EQ(job(id).life.reason, "host_lost");
}

TEST_F(Causes, AnAgentThatIsDownAloneIsNamedWhenItsShareExpires) {
  join(1);
  const JobId number = submit(2, "job");
  ready(1);
  see(1, Verdict::kRefused);
  pass(10min);
  EXPECT_EQ(state_of(number), "queued");
  EXPECT_EQ(job(number).life.reason, "agent_down: host host1");
}

TEST_F(Causes, PastItsLimitAJobIsTimedOut) {
  join(1);
  JobSpec spec = spec_of(2);
  spec.limits.time_limit = 90s;
  give(input::ClientSubmit{++request, "limited", spec, "alice"});
  const JobId number = replies.back().job;
  const Token token = ready(1);
  pass(95s);
  finish(1, token, 143, true);
  EXPECT_EQ(state_of(number), "failed");
  EXPECT_EQ(job(number).life.exit_code, kExitTimeLimit);
  EXPECT_EQ(job(number).life.reason, "timed out: its limit is 1m 30s");
}

}  // namespace
}  // namespace muster::scheduler
