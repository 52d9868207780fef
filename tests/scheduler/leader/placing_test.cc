// Placing: pools, queues at their max, and jobs that accept several GPU types, on one leader.

#include "scheduler/leader/placing.h"

#include <string>
#include <utility>
#include <vector>

#include "tests/scheduler/leader/one_leader.h"

namespace muster::scheduler {
namespace {

using namespace testing;  // NOLINT: the fixture's verbs

class PlacingTest : public OneLeader {
 protected:
  /// A host with four GPUs of that type.
  void join_with(std::uint64_t host, const std::string& type, std::uint32_t cpus = 0) {
    Hello hello = hello_of(host);
    hello.gpu_type = type;
    hello.cpus = cpus;
    hear(host, std::move(hello), Nonce(host));
    see(host, Verdict::kAlive);
  }
  JobId submit_of(std::uint32_t gpus, std::vector<std::string> types,
                  const std::string& queue = "") {
    JobSpec spec = spec_of(gpus);
    spec.request.gpu_types = std::move(types);
    spec.queue = queue;
    return submit_spec(std::move(spec));
  }
  JobId submit_spec(JobSpec spec) {
    spec.user = "ann";
    ++request;
    give(input::ClientSubmit{request, "key" + std::to_string(request), std::move(spec), "alice"});
    EXPECT_FALSE(replies.back().error.has_value());
    return replies.back().job;
  }
  /// Queue "a" may get so many H100; "b" has no limit.
  void set_queues(std::uint64_t max) {
    entry::SetQueues fact;
    fact.expected = scheduler.state().queues().version();
    fact.tree.nodes.resize(2);
    fact.tree.nodes[0].path = "a";
    fact.tree.nodes[0].max = {{"h100", max}};
    fact.tree.nodes[1].path = "b";
    give(input::Applied{next_index(), encode(fact)});
    ASSERT_TRUE(scheduler.state().queues().is_set());
  }
  std::string state_of(JobId number) { return std::string(text_of(job(number).life.state)); }
  std::string type_of(JobId number) {
    const Attempt* attempt = scheduler.state().attempt(job(number).life.current);
    return attempt == nullptr
               ? ""
               : scheduler.state().host(attempt->members.front().member.host)->gpu_type;
  }
  std::uint64_t rejected() const { return scheduler.state().edges()[Edge::kDecideRejected]; }
};

TEST_F(PlacingTest, TwoPoolsDoNotHoldEachOtherUp) {
  join_with(1, "H100");
  join_with(2, "A100", 8);
  const JobId running = submit_of(2, {"H100"});
  const JobId large = submit_of(4, {"H100"});
  EXPECT_EQ(state_of(large), "queued");
  EXPECT_EQ(state_of(submit_of(1, {"H100"})), "queued") << "its pool is strict";
  EXPECT_EQ(state_of(submit_of(2, {"A100"})), "scheduled");
  JobSpec ranks = spec_of(0);
  ranks.request.ranks = 1;
  EXPECT_EQ(state_of(submit_spec(ranks)), "scheduled");
  EXPECT_EQ(state_of(submit_of(1, {"A100"})), "scheduled");
  finish(1, ready(1), 0);
  EXPECT_EQ(state_of(running), "completed");
  EXPECT_EQ(state_of(large), "scheduled");
  EXPECT_EQ(rejected(), 0U);
}

TEST_F(PlacingTest, AJobOfTwoTypesTakesTheOneThatItPrefersWhileItIsFree) {
  join_with(1, "H100");
  join_with(2, "A100");
  EXPECT_EQ(type_of(submit_of(4, {"a100", "h100"})), "A100");
  EXPECT_EQ(type_of(submit_of(2, {"a100", "h100"})), "H100");
  const JobId any = submit_of(2, {});
  EXPECT_EQ(type_of(any), "H100");
  EXPECT_EQ(state_of(submit_of(1, {})), "queued");
}

TEST_F(PlacingTest, AJobOfTwoTypesPassesTheJobThatWaitsForOneOfThem) {
  join_with(1, "H100");
  join_with(2, "A100");
  submit_of(2, {"H100"});
  EXPECT_EQ(state_of(submit_of(4, {"H100"})), "queued");
  EXPECT_EQ(type_of(submit_of(1, {"H100", "A100"})), "A100") << "there it is first";
}

TEST_F(PlacingTest, AQueueGetsNoMoreThanItsMax) {
  join_with(1, "H100");
  set_queues(2);
  const JobId first = submit_of(2, {}, "a");
  const Token token = ready(1);
  EXPECT_EQ(state_of(first), "running");
  const JobId second = submit_of(1, {}, "a");
  EXPECT_EQ(state_of(second), "queued");
  EXPECT_EQ(state_of(submit_of(1, {}, "b")), "scheduled") << "others go on";
  finish(1, token, 0);
  EXPECT_EQ(state_of(second), "scheduled");
  EXPECT_EQ(rejected(), 0U);
}

TEST_F(PlacingTest, WhatIsOnItsWayCountsBelowTheMax) {
  set_queues(2);
  std::vector<JobId> jobs;
  for (int i = 0; i < 3; ++i) {
    jobs.push_back(submit_of(1, {"H100"}, "a"));
  }
  join_with(1, "H100");
  EXPECT_EQ(state_of(jobs[0]), "scheduled");
  EXPECT_EQ(state_of(jobs[1]), "scheduled");
  EXPECT_EQ(state_of(jobs[2]), "queued");
  EXPECT_EQ(rejected(), 0U) << "no Decide was above the max";
}

TEST_F(PlacingTest, AHigherMaxLetsItsJobsStart) {
  join_with(1, "H100");
  set_queues(1);
  submit_of(1, {}, "a");
  const JobId second = submit_of(1, {}, "a");
  EXPECT_EQ(state_of(second), "queued");
  set_queues(2);
  EXPECT_EQ(state_of(second), "scheduled");
}

TEST_F(PlacingTest, AJobWhoseAmountsCountAsMoreThanItsGpusLetsOtherQueuesGoOn) {
  join_with(1, "H100", 8);
  set_queues(2);
  JobSpec greedy = spec_of(1);
  greedy.queue = "a";
  greedy.request.cpus = 6000;  // The CPUs of three GPUs.
  const JobId waits = submit_spec(greedy);
  EXPECT_EQ(state_of(waits), "queued");
  EXPECT_EQ(state_of(submit_of(1, {}, "b")), "scheduled");
  JobSpec small = spec_of(1);
  small.queue = "a";
  small.request.cpus = 0;
  EXPECT_EQ(state_of(submit_spec(small)), "scheduled") << "behind a job that can never start";
  EXPECT_EQ(rejected(), 0U);
  set_queues(4);
  EXPECT_EQ(state_of(waits), "scheduled");
}

}  // namespace
}  // namespace muster::scheduler
