// The jobs that wait, against a walk over the queue.

#include "scheduler/policy/pending_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "gossip/base/rng.h"
#include "scheduler/placement/capacity.h"
#include "tests/scheduler/policy/queue_of.h"
#include "tests/scheduler/policy/queued_log.h"

namespace muster::scheduler {
namespace {

using namespace testing;  // NOLINT: the domain's verbs

HostKind h100() {
  return HostKind{"h100", {}, true, 0, 0};
}

HostSpace gpus(std::uint16_t free) {
  HostSpace space;
  space.islands.front() = free;
  return space;
}

const std::vector<std::string> kH100 = {"h100"};

class Pending : public ::testing::Test, protected QueuedLog {
 protected:
  Pending() { apply(registration(1, 4)); }
  std::optional<JobId> first() const { return pending.first_in("h100"); }
  JobId submit_of(std::vector<std::string> types, std::uint32_t gpus = 1) {
    JobSpec spec = spec_of(gpus);
    spec.request.gpu_types = std::move(types);
    return submit(std::move(spec));
  }
  JobId submit_ranks() {
    JobSpec spec = spec_of(0);
    spec.request.ranks = 1;
    return submit(std::move(spec));
  }
};

TEST_F(Pending, IsInTheOrderOfTheQueue) {
  const JobId one = submit(1);
  const JobId two = submit(2);
  EXPECT_EQ(first(), one);
  const JobId urgent = submit(1, 5);
  EXPECT_EQ(first(), urgent);
  apply(entry::Edit{two, 9, "alice"});
  EXPECT_EQ(first(), two);
  apply(entry::Cancel{two, "alice"});
  EXPECT_EQ(first(), urgent);
}

TEST_F(Pending, WhatOneOfAShapeFindsOutHoldsForAll) {
  const JobId early = submit(2);
  const JobId second = submit(2);
  const JobId other = submit(8);
  pending.block(early, kH100);
  EXPECT_TRUE(pending.is_blocked(second, "h100"));
  EXPECT_FALSE(pending.is_blocked(other, "h100"));
  EXPECT_FALSE(pending.next().has_value()) << "the pool is strict";
  pending.wake(HostKind{"h100", {}, false, 0, 0}, gpus(8));
  EXPECT_TRUE(pending.is_blocked(second, "h100")) << "a host without namespaces cannot hold it";
  pending.wake(h100(), gpus(0));
  EXPECT_TRUE(pending.is_blocked(second, "h100"));
  pending.wake(h100(), gpus(1));
  EXPECT_FALSE(pending.is_blocked(second, "h100")) << "with others it may be enough";
  pending.set_aside(early, kH100);
  EXPECT_EQ(first(), other);
  const JobId third = submit(2, 7);
  EXPECT_EQ(first(), other) << "it is of the same shape";
  EXPECT_TRUE(pending.is_right(log.state));
  pending.reopen();
  EXPECT_EQ(first(), third);
}

TEST_F(Pending, AJobThatLeavesHostsOutIsAlone) {
  const JobId picky = submit(2);
  decide(picky, {member_of(1, 0, 2)});
  apply(entry::Abort{log.state.job(picky)->life.current, Cause::kRefused, host_id(1)});
  ASSERT_EQ(log.state.job(picky)->life.left_out.size(), 1U);
  const JobId other = submit(2);
  EXPECT_EQ(first(), picky);
  pending.block(picky, kH100);
  EXPECT_FALSE(pending.is_blocked(other, "h100"));
  pending.wake_alone();
  EXPECT_FALSE(pending.is_blocked(picky, "h100"));
  pending.set_aside(picky, kH100);
  EXPECT_EQ(first(), other);
  pending.set_aside(other, kH100);
  pending.reopen_alone();
  EXPECT_EQ(first(), picky);
  EXPECT_TRUE(pending.is_right(log.state));
  apply(entry::Cancel{picky, "alice"});
  EXPECT_EQ(first(), std::nullopt) << "the other one is still aside";
}

TEST_F(Pending, PoolsDoNotHoldEachOtherUp) {
  apply(registration(2, 4, 1, "A100"));
  const JobId large = submit_of({"H100"}, 8);
  const JobId behind = submit_of({"h100"});
  const JobId elsewhere = submit_of({"A100"});
  const JobId ranks = submit_ranks();
  pending.block(large, kH100);
  std::optional<Next> next = pending.next();
  ASSERT_TRUE(next.has_value());
  EXPECT_EQ(next->job, elsewhere);
  EXPECT_EQ(next->types, std::vector<std::string>{"a100"});
  pending.hide(elsewhere, "a100", 1000);
  next = pending.next();
  ASSERT_TRUE(next.has_value());
  EXPECT_EQ(next->job, ranks);
  EXPECT_TRUE(next->types.empty());
  pending.block(ranks, {});
  EXPECT_FALSE(pending.next().has_value()) << text_of(behind) << " is behind the large one";
  pending.wake(HostKind{"a100", {}, true, 0, 0}, gpus(4));
  EXPECT_TRUE(pending.is_blocked(large, "h100")) << "nothing became free of its type";
  pending.wake(h100(), gpus(4));
  EXPECT_EQ(pending.next()->job, large);
  EXPECT_TRUE(pending.is_right(log.state));
}

TEST_F(Pending, AJobOfSeveralTypesIsTriedWhereItIsFirst) {
  apply(registration(2, 4, 1, "A100"));
  const JobId of_one = submit_of({"H100"});
  const JobId of_both = submit_of({"H100", "A100"});
  const JobId of_any = submit_of({});
  EXPECT_EQ(pending.next()->job, of_one) << "it is first in all of its pools";
  EXPECT_EQ(pending.first_in("a100"), of_both);
  pending.block(of_one, kH100);
  EXPECT_EQ(pending.next()->job, of_both);
  EXPECT_EQ(pending.next()->types, std::vector<std::string>{"a100"});
  pending.hide(of_one, "h100", 1000);
  EXPECT_EQ(pending.next()->job, of_both);
  EXPECT_EQ(pending.next()->types, (std::vector<std::string>{"h100", "a100"}));
  pending.hide(of_both, "h100", 1000);
  EXPECT_EQ(pending.next()->job, of_any);
  EXPECT_EQ(pending.next()->types, (std::vector<std::string>{"h100", "a100"}));
  apply(registration(3, 4, 1, "B200"));
  EXPECT_EQ(pending.next()->types, (std::vector<std::string>{"h100", "a100", "b200"}));
  pending.set_aside(of_any, std::vector<std::string>{"a100"});
  EXPECT_EQ(pending.next()->types, (std::vector<std::string>{"h100", "b200"}));
  EXPECT_TRUE(pending.is_right(log.state));
}

TEST_F(Pending, ATypeThatNoHostHasIsNoPoolUntilOneHasIt) {
  const JobId job = submit_of({"B200"});
  EXPECT_FALSE(pending.next().has_value());
  apply(registration(2, 4, 1, "B200"));
  ASSERT_TRUE(pending.next().has_value());
  EXPECT_EQ(pending.next()->job, job);
}

TEST_F(Pending, ALargerChargeThanTheRequestSaysIsLearnt) {
  QueueNode small = queue_node("a");
  small.max = {{"h100", 4}};
  set_queues({small, queue_node("b")});
  const JobId greedy = submit("a", "ann", 2);
  const JobId other = submit("b", "bob", 1);
  EXPECT_EQ(first(), greedy);
  EXPECT_EQ(pending.room(greedy, "h100"), 4000U);
  EXPECT_EQ(pending.room(other, "h100"), UINT64_MAX);
  EXPECT_TRUE(pending.raise(greedy, "h100", 5000));
  EXPECT_FALSE(pending.raise(greedy, "h100", 5000)) << "known already";
  EXPECT_EQ(first(), other) << "the queue has no room, and others go on";
  EXPECT_TRUE(pending.is_right(log.state));
  pending.wake(h100(), gpus(1));
  EXPECT_EQ(first(), greedy) << "it may get another host";
}

TEST_F(Pending, HiddenJobsStaySoWhenTheQueuesChange) {
  set_queues({queue_node("a")});
  const JobId asked = submit("a", "ann", 2);
  submit("a", "ann", 1);
  pending.hide(asked, "h100", 2000);
  QueueNode small = queue_node("a");
  small.max = {{"h100", 2}};
  set_queues({small});
  EXPECT_EQ(first(), std::nullopt) << "what was asked for fills the queue";
  EXPECT_TRUE(pending.is_right(log.state));
  pending.show(asked);
  EXPECT_EQ(first(), asked);
  pending.hide(asked, "h100", 2000);
  pending.forget_leader();
  EXPECT_EQ(first(), asked);
}

TEST_F(Pending, AgreesWithAWalkOverTheQueue) {
  Rng rng(1);
  std::set<JobId> hidden;
  std::set<std::uint32_t> aside;  // By the GPUs asked for: that is all of a shape here.
  for (int i = 0; i < 3000; ++i) {
    const auto random_job = [&]() { return queue_of(log.state)[rng.below(log.state.pending())]; };
    const std::uint64_t what = rng.below(12);
    if (what < 5 || log.state.pending() < 3) {
      submit(static_cast<std::uint32_t>(1 + rng.below(6)), static_cast<std::int32_t>(rng.below(4)));
    } else if (what == 5 || log.state.pending() > 60) {
      const JobId job = random_job();
      apply(entry::Cancel{job, "alice"});
      hidden.erase(job);
      std::erase_if(aside, [&](std::uint32_t gpus) {  // The last of a shape takes it along.
        return std::none_of(
            log.state.jobs().begin(), log.state.jobs().end(), [&](const auto& each) {
              return each.second.is_pending() && each.second.spec.request.gpus == gpus;
            });
      });
    } else if (what < 8) {
      apply(entry::Edit{random_job(), static_cast<std::int32_t>(rng.below(4)), "alice"});
    } else if (what == 8) {
      hidden.insert(random_job());
      for (const JobId job : hidden) {
        pending.hide(job, "h100", 1000);
      }
    } else if (what == 9 && !hidden.empty()) {
      pending.show(*hidden.begin());
      hidden.erase(hidden.begin());
    } else if (what == 10) {
      const JobId job = random_job();
      pending.set_aside(job, kH100);
      aside.insert(log.state.job(job)->spec.request.gpus);
    } else if (rng.below(4) == 0) {
      pending.reopen();
      aside.clear();
    }
    std::optional<JobId> wanted;
    for (const JobId job : queue_of(log.state)) {
      if (!hidden.contains(job) && !aside.contains(log.state.job(job)->spec.request.gpus)) {
        wanted = job;
        break;
      }
    }
    ASSERT_EQ(first(), wanted) << "step " << i;
    ASSERT_EQ(pending.queue().begin()->second.size(), log.state.pending());
    ASSERT_TRUE(pending.is_right(log.state));
  }
  pending.forget_leader();
  EXPECT_EQ(first(), queue_of(log.state).front());
}

}  // namespace
}  // namespace muster::scheduler
