// The causes of an attempt's end, as people read them: lost things, and others.

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "scheduler/policy/owed_waits.h"
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

/// A job of the queue spare runs on host 1, which the queue nlp is guaranteed, and gives way.
class Preempted : public Causes {
 protected:
  void log(const Entry& entry) { give(input::Applied{next_index(), encode(entry)}); }
  JobId submit_in(const std::string& queue) {
    JobSpec spec = spec_of(4);
    spec.queue = queue;
    give(input::ClientSubmit{++request, "in " + queue, spec, "alice"});
    return replies.back().job;
  }
  void preempt(bool has_quorum = true) {
    join(1);
    entry::SetQueues queues;
    queues.tree.nodes.resize(2);
    queues.tree.nodes[0].path = "nlp";
    queues.tree.nodes[0].guaranteed = {{"h100", 4}};
    queues.tree.nodes[1].path = "spare";
    log(queues);
    lent = submit_in("spare");
    token = ready(1);
    pass(10min);
    owed = submit_in("nlp");
    entry::Preempt fact;
    fact.job = owed;
    fact.members = {member_of(1, 0, 4)};
    fact.victims = {token};
    forget();
    commit = has_quorum;
    log(fact);
    EXPECT_FALSE(scheduler.state().preemptions().all().empty());
  }

  JobId lent;
  JobId owed;
  Token token;
};

TEST_F(Preempted, AVictimIsStoppedAndTheJobGetsItsPlace) {
  preempt();
  ASSERT_EQ(said<Stop>(1).size(), 1U);
  EXPECT_EQ(said<Stop>(1)[0].token, token);
  finish(1, token, 143, true);
  EXPECT_EQ(state_of(lent), "queued");
  EXPECT_EQ(job(lent).life.reason, "preempted");
  EXPECT_EQ(job(lent).life.failures.count, 0U) << "no retry of the user is used";
  EXPECT_EQ(state_of(owed), "scheduled");
}

TEST_F(Preempted, ANewLeaderStopsTheVictim) {
  preempt(false);
  EXPECT_TRUE(said<Stop>(1).empty());
  commit = true;
  pending.clear();
  restart_with_snapshot();
  pass(1s);
  EXPECT_FALSE(said<Stop>(1).empty());
  EXPECT_EQ(state_of(lent), "stopping");
}

/// A job of one limit that runs on host 1.
class TimeLimits : public Causes {
 protected:
  Token run_for(Duration limit) {
    join(1);
    JobSpec spec = spec_of(2);
    spec.limits.time_limit = limit;
    give(input::ClientSubmit{++request, "limited", spec, "alice"});
    id = replies.back().job;
    return ready(1);
  }
  void limit_to(Duration limit) {
    give(
        input::ClientOrder{++request, entry::Edit{id, 0, {"alice"}, true, "", Tier::kNone, limit}});
    EXPECT_FALSE(replies.back().error.has_value());
  }
  std::vector<Event> told_near() const {
    std::vector<Event> found;
    std::copy_if(events.begin(), events.end(), std::back_inserter(found),
                 [](const Event& event) { return event.name == "time_limit_near"; });
    return found;
  }
};

TEST_F(TimeLimits, AnAttemptIsToldOnceToBeNearItsLimitAndAgainNearALaterOne) {
  const Token token = run_for(100s);
  pass(78s);
  EXPECT_TRUE(told_near().empty());
  pass(4s);
  ASSERT_EQ(told_near().size(), 1U);
  EXPECT_EQ(told_near()[0].field("job"), text_of(id));
  EXPECT_EQ(told_near()[0].field("token"), token.text());
  const int left = std::stoi(std::string(told_near()[0].field("left_ms")));
  EXPECT_GT(left, 17'000);
  EXPECT_LE(left, 20'000);
  pass(10s);
  limit_to(200s);
  pass(100s);
  EXPECT_EQ(told_near().size(), 2U);
}

TEST_F(TimeLimits, EachAttemptIsToldAndNoneWithoutALimit) {
  Token token = run_for(100s);
  pass(90s);
  give(input::ClientOrder{++request, entry::Requeue{id, 0, "alice"}});
  finish(1, token, 0, true);
  token = ready(1);
  pass(70s);
  EXPECT_EQ(told_near().size(), 1U);
  pass(20s);
  ASSERT_EQ(told_near().size(), 2U);
  EXPECT_EQ(told_near()[1].field("token"), token.text());
  limit_to(kNoTimeLimit);
  pass(1h);
  EXPECT_EQ(told_near().size(), 2U);
  EXPECT_EQ(state_of(id), "running");
}

TEST_F(TimeLimits, ALongerOneHoldsAtOnce) {
  run_for(100s);
  pass(90s);
  limit_to(300s);
  pass(200s);
  EXPECT_EQ(state_of(id), "running");
  pass(15s);
  EXPECT_EQ(state_of(id), "stopping");
}

TEST_F(TimeLimits, AShorterOneHoldsAtOnce) {
  run_for(1h);
  pass(90s);
  limit_to(100s);
  pass(5s);
  EXPECT_EQ(state_of(id), "running");
  pass(10s);
  EXPECT_EQ(state_of(id), "stopping");
  EXPECT_EQ(said<Stop>(1).back().reason, "time_limit");
}

/// Four H100, all of them held by prod; nlp is guaranteed four.
class StarvingJobs : public OneLeader {
 protected:
  void SetUp() override {
    join(1);
    entry::SetQueues set;
    set.tree.nodes.resize(2);
    set.tree.nodes[0].path = "nlp";
    set.tree.nodes[0].guaranteed = {{"h100", 4}};
    set.tree.nodes[1].path = "prod";
    set.by = {"op"};
    give(input::Applied{next_index(), encode(Entry(set))});
    submit_to("prod", 4);
    ready(1);
  }
  JobId submit_to(const std::string& queue, std::uint32_t gpus) {
    JobSpec spec = spec_of(gpus);
    spec.queue = queue;
    give(input::ClientSubmit{++request, "key" + std::to_string(request), spec, "alice"});
    return replies.back().job;
  }
  std::vector<Event> told() const {
    std::vector<Event> found;
    std::copy_if(events.begin(), events.end(), std::back_inserter(found),
                 [](const Event& event) { return event.name == "starving"; });
    return found;
  }
};

TEST_F(StarvingJobs, AJobWhoseQueueIsOwedIsToldOnceAfterHalfAnHour) {
  const JobId starved = submit_to("nlp", 4);
  submit_to("prod", 1);
  pass(kStarvingAfter - 10s);
  EXPECT_TRUE(told().empty());
  pass(kStarvingLookEvery + 20s);
  ASSERT_EQ(told().size(), 1U);
  EXPECT_EQ(told()[0].severity, Severity::kWarn);
  EXPECT_EQ(told()[0].field("queue"), "nlp");
  EXPECT_EQ(told()[0].field("job"), text_of(starved));
  EXPECT_EQ(told()[0].field("why"),
            "nlp is owed 4 H100 and waits 30 min: 0 of the 4 GPUs of the job fit now, other queues "
            "hold 4");
  pass(20min);
  EXPECT_EQ(told().size(), 1U) << "once, and no job of prod";
}

TEST_F(StarvingJobs, AQueueWithoutAGuaranteeMayWait) {
  submit_to("prod", 4);
  pass(kStarvingAfter + 5min);
  EXPECT_TRUE(told().empty());
}

}  // namespace
}  // namespace muster::scheduler
