// One line of `jobs`: why the job is in its state, how long it ran, whether that is in doubt.

#include <gtest/gtest.h>

#include <optional>

#include <map>

#include "agent/api/jobs.h"
#include "agent/front/read_model.h"
#include "scheduler/policy/pending_index.h"
#include "tests/scheduler/state/cluster.h"

namespace muster::agent {
namespace {

using namespace scheduler::testing;  // NOLINT: hosts, jobs and entries in one line each.

class JobSummaryTest : public ::testing::Test {
 protected:
  JobSummaryTest() {
    log_.apply(registration(1, 4));
    log_.apply(registration(2, 4));
    members_[host_id(1)].state = membership::MemberState::kAlive;
    members_[host_id(2)].state = membership::MemberState::kAlive;
  }

  JobSummary line_of(JobId job) {
    const HostViews views{addresses_,
                          [this](HostId host) -> const membership::Member* {
                            const auto found = members_.find(host);
                            return found == members_.end() ? nullptr : &found->second;
                          },
                          Instant()};
    return job_detail(known(), views, job)->summary;
  }
  JobsKnown known() {
    capacity_.emplace(log_.state);
    pending_.emplace(log_.state);
    return {log_.state, *capacity_, pending_->queue()};
  }
  void pass(Duration time) { log_.apply(scheduler::entry::Tick{time}); }
  void stop(const Token& token, scheduler::Cause cause) {
    log_.apply(scheduler::entry::Stop{token, cause});
  }
  void end_all(const Token& token, std::int32_t code, bool by_us) {
    for (const scheduler::Member& member : gang_) {
      log_.finish(token, member, code, by_us);
    }
  }

  Log log_;
  std::optional<scheduler::Capacity> capacity_;
  std::optional<scheduler::PendingIndex> pending_;
  crdt::AddressBook addresses_;
  std::map<HostId, membership::Member> members_;
  const std::vector<scheduler::Member> gang_ = {member_of(1, 0, 4), member_of(2, 0, 4, 4)};
};

TEST_F(JobSummaryTest, OfARunningJobASilentHostMakesADoubt) {
  const JobId job = log_.submit(8);
  log_.run(job, gang_);
  pass(std::chrono::seconds(30));
  EXPECT_FALSE(line_of(job).is_doubtful);
  EXPECT_EQ(line_of(job).reason, "");
  EXPECT_EQ(line_of(job).run_ms, 30'000U);
  EXPECT_EQ(line_of(job).hosts.size(), 2U);
  members_[host_id(2)].state = membership::MemberState::kUnreachable;
  const JobSummary line = line_of(job);
  EXPECT_EQ(line.state, "running");
  EXPECT_TRUE(line.is_doubtful);
  EXPECT_NE(line.reason.find("requeued"), std::string::npos) << line.reason;
}

TEST_F(JobSummaryTest, OfASuspendedJobTheTimeStandsStillAndNoHostMatters) {
  const JobId job = log_.submit(8);
  const Token token = log_.run(job, gang_);
  pass(std::chrono::seconds(30));
  log_.apply(scheduler::entry::Suspend{job, "ann@a"});
  stop(token, scheduler::Cause::kSuspended);
  end_all(token, 15, true);
  pass(std::chrono::minutes(5));
  members_[host_id(2)].state = membership::MemberState::kUnreachable;
  const JobSummary line = line_of(job);
  EXPECT_EQ(line.state, "suspended");
  EXPECT_FALSE(line.is_doubtful);
  EXPECT_EQ(line.run_ms, 30'000U);
  EXPECT_TRUE(line.hosts.empty());
  EXPECT_NE(line.reason.find("ann@a"), std::string::npos) << line.reason;
}

TEST_F(JobSummaryTest, OfACancelledJobTheReasonStaysAndTheTimeStandsStill) {
  const JobId job = log_.submit(8);
  const Token token = log_.run(job, gang_);
  pass(std::chrono::seconds(30));
  log_.apply(scheduler::entry::Cancel{job, "ann@a"});
  stop(token, scheduler::Cause::kCancelled);
  EXPECT_EQ(line_of(job).state, "stopping");
  end_all(token, 15, true);
  pass(std::chrono::minutes(5));
  members_[host_id(1)].state = membership::MemberState::kUnreachable;
  const JobSummary line = line_of(job);
  EXPECT_EQ(line.state, "cancelled");
  EXPECT_FALSE(line.is_doubtful);
  EXPECT_EQ(line.run_ms, 30'000U);
  EXPECT_NE(line.reason.find("ann@a"), std::string::npos) << line.reason;
}

TEST_F(JobSummaryTest, OfACompletedJobThereIsNothingToSay) {
  const JobId job = log_.submit(8);
  const Token token = log_.run(job, gang_);
  pass(std::chrono::seconds(30));
  end_all(token, 0, false);
  members_[host_id(1)].state = membership::MemberState::kUnreachable;
  EXPECT_EQ(line_of(job).state, "completed");
  EXPECT_EQ(line_of(job).reason, "");
  EXPECT_FALSE(line_of(job).is_doubtful);
}

TEST_F(JobSummaryTest, OfAQueuedJobItSaysWhatItWaitsForAndNoTime) {
  log_.run(log_.submit(8), gang_);
  const JobId job = log_.submit(8);
  pass(std::chrono::seconds(30));
  EXPECT_EQ(line_of(job).run_ms, 0U);
  EXPECT_NE(line_of(job).reason, "");
  EXPECT_FALSE(line_of(job).is_doubtful);
}

TEST_F(JobSummaryTest, OfAJobThatWaitsThoughItsQueueIsOwedTheDebtIsTold) {
  scheduler::QueueTree tree;
  tree.nodes.resize(2);
  tree.nodes[0].path = "nlp";
  tree.nodes[0].guaranteed = {{"h100", 6}};
  tree.nodes[1].path = "prod";
  ASSERT_EQ(log_.apply(scheduler::entry::SetQueues{0, tree, {}, {}}).rejected, "");
  const auto submit_to = [&](const std::string& queue, std::uint32_t gpus) {
    scheduler::entry::Submit fact = submission(queue, gpus);
    fact.spec.queue = queue;
    fact.spec.user = "alice";
    return log_.apply(fact).job;
  };
  log_.run(submit_to("prod", 8), gang_);
  const JobId job = submit_to("nlp", 4);
  pass(std::chrono::minutes(9));
  EXPECT_EQ(line_of(job).reason, "first of alice in queue nlp, waits for GPUs");
  pass(std::chrono::minutes(3));
  EXPECT_EQ(line_of(job).reason,
            "nlp is owed 6 H100 and waits 12 min: 0 of the 4 GPUs of the job fit now, other queues "
            "hold 8");
}

}  // namespace
}  // namespace muster::agent
