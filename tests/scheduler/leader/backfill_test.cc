// Backfill on one leader: a pool keeps hosts for its first job, and others pass beside them.

#include <chrono>
#include <string>
#include <utility>

#include "scheduler/leader/kept_hosts.h"
#include "tests/scheduler/leader/one_leader.h"

namespace muster::scheduler {
namespace {

using namespace testing;  // NOLINT: the fixture's verbs
using std::chrono::minutes;

class Backfill : public OneLeader {
 protected:
  /// Two hosts of four GPUs; on the first runs a job of four GPUs, on the second one of two.
  Backfill() {
    join(1);
    join(2);
  }
  JobId submit_for(std::uint32_t gpus, Duration limit, std::int32_t priority = 0) {
    JobSpec spec = spec_of(gpus);
    spec.limits.time_limit = limit;
    spec.priority = priority;
    ++request;
    give(input::ClientSubmit{request, "key" + std::to_string(request), std::move(spec), "alice"});
    EXPECT_FALSE(replies.back().error.has_value());
    return replies.back().job;
  }
  JobId running(std::uint64_t host, std::uint32_t gpus, Duration limit) {
    const JobId job = submit_for(gpus, limit);
    ready(host);
    EXPECT_EQ(state_of(job), "running");
    return job;
  }
  std::string state_of(JobId number) { return std::string(text_of(job(number).life.state)); }
  /// Long enough for a plan.
  void be_patient() { pass(kStuckPatience + std::chrono::seconds(3)); }
  void end(JobId number) {
    const Token token = job(number).life.current;
    const Attempt& attempt = *scheduler.state().attempt(token);
    for (const MemberRecord& each : std::vector(attempt.members)) {
      hear(each.member.host == host_id(1) ? 1 : 2,
           Finish{token, each.member.start, results_of(each.member, 0, false), true});
    }
  }
};

TEST_F(Backfill, AShortJobPassesAndALongOneDoesNot) {
  const JobId first = running(1, 4, minutes(10));
  const JobId second = running(2, 2, minutes(120));
  const JobId gang = submit_for(8, minutes(60));
  const JobId short_one = submit_for(1, minutes(30));
  const JobId long_one = submit_for(1, minutes(180));
  EXPECT_EQ(state_of(short_one), "queued") << "the pool is strict at first";
  be_patient();
  EXPECT_EQ(state_of(short_one), "scheduled");
  EXPECT_EQ(state_of(long_one), "queued") << "it would end after the start of the gang";
  EXPECT_EQ(state_of(gang), "queued");
  ready(2);
  end(first);
  end(second);
  EXPECT_EQ(state_of(long_one), "queued");
  EXPECT_EQ(state_of(gang), "queued");
  end(short_one);
  EXPECT_EQ(state_of(gang), "scheduled");
  EXPECT_EQ(state_of(long_one), "queued");
}

TEST_F(Backfill, WithoutALimitThereIsNoPlanAndThePoolWaits) {
  running(1, 4, minutes(10));
  running(2, 2, Duration::zero());
  submit_for(8, minutes(60));
  const JobId short_one = submit_for(1, minutes(1));
  be_patient();
  EXPECT_EQ(state_of(short_one), "queued");
}

TEST_F(Backfill, AJobWithoutALimitDoesNotPassOntoKeptHosts) {
  running(1, 4, minutes(10));
  running(2, 2, minutes(20));
  submit_for(8, minutes(60));
  const JobId endless = submit_for(1, Duration::zero());
  be_patient();
  EXPECT_EQ(state_of(endless), "queued");
  join(3);
  pass(std::chrono::seconds(2));
  EXPECT_EQ(state_of(endless), "scheduled") << "host 3 is kept for nobody";
}

TEST_F(Backfill, ThePlanGoesWithItsJob) {
  running(1, 4, minutes(10));
  running(2, 2, minutes(120));
  const JobId gang = submit_for(8, minutes(60));
  const JobId long_one = submit_for(1, minutes(180));
  be_patient();
  EXPECT_EQ(state_of(long_one), "queued");
  give(input::Applied{next_index(), encode(entry::Cancel{gang, "alice"})});
  EXPECT_EQ(state_of(gang), "cancelled");
  EXPECT_EQ(state_of(long_one), "scheduled");
}

TEST_F(Backfill, AnotherTreeOfQueuesKeepsThePlan) {
  running(1, 4, minutes(10));
  running(2, 2, minutes(120));
  submit_for(8, minutes(60));
  const JobId long_one = submit_for(1, minutes(180));
  be_patient();
  entry::SetQueues fact;
  fact.expected = scheduler.state().queues().version();
  fact.tree.nodes.resize(1);
  fact.tree.nodes[0].path = "other";
  give(input::Applied{next_index(), encode(fact)});
  ASSERT_TRUE(scheduler.state().queues().is_set());
  const JobId short_one = submit_for(1, minutes(20));
  EXPECT_EQ(state_of(long_one), "queued");
  EXPECT_EQ(state_of(short_one), "scheduled");
}

TEST_F(Backfill, AHigherPriorityDoesNotTakeThePlannedHosts) {
  const JobId first = running(1, 4, minutes(10));
  const JobId second = running(2, 2, minutes(120));
  const JobId gang = submit_for(8, minutes(60));
  be_patient();
  const JobId rival = submit_for(4, minutes(600), 5);
  end(first);
  EXPECT_EQ(state_of(rival), "queued") << "its end would be after the start of the gang";
  end(second);
  EXPECT_EQ(state_of(gang), "scheduled");
}

TEST_F(Backfill, ANewLeaderPlansForItself) {
  running(1, 4, minutes(10));
  running(2, 2, minutes(120));
  const JobId gang = submit_for(8, minutes(60));
  be_patient();
  restart_with_snapshot();
  see(1, Verdict::kAlive);
  see(2, Verdict::kAlive);
  const JobId short_one = submit_for(1, minutes(20));
  const JobId long_one = submit_for(1, minutes(180));
  EXPECT_EQ(state_of(short_one), "queued");
  be_patient();
  EXPECT_EQ(state_of(short_one), "scheduled");
  EXPECT_EQ(state_of(long_one), "queued");
  EXPECT_EQ(state_of(gang), "queued");
}

}  // namespace
}  // namespace muster::scheduler
