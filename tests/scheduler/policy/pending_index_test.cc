// The jobs that wait, against a walk over the queue.

#include "scheduler/policy/pending_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "gossip/base/rng.h"
#include "scheduler/placement/capacity.h"
#include "tests/scheduler/policy/queue_of.h"
#include "tests/scheduler/state/cluster.h"

namespace muster::scheduler {
namespace {

using namespace testing;  // NOLINT: the domain's verbs

HostKind h100() {
  return HostKind{"H100", {}, true, 0, 0};
}

HostSpace gpus(std::uint16_t free) {
  HostSpace space;
  space.islands.front() = free;
  return space;
}

class Pending : public ::testing::Test {
 protected:
  void apply(const Entry& entry) {
    const ApplyResult result = log.apply(entry);
    for (const JobId job : result.jobs_moved) {
      pending.on_changed(log.state, job);
    }
  }
  JobId submit(std::uint32_t gpus, std::int32_t priority = 0) {
    entry::Submit fact = submission("key" + std::to_string(++keys), gpus);
    fact.spec.priority = priority;
    apply(fact);
    return log.state.jobs().rbegin()->first;
  }

  Log log;
  PendingIndex pending{log.state};
  int keys = 0;
};

TEST_F(Pending, IsInTheOrderOfTheQueue) {
  const JobId one = submit(1);
  const JobId two = submit(2);
  EXPECT_EQ(pending.first(), one);
  const JobId urgent = submit(1, 5);
  EXPECT_EQ(pending.first(), urgent);
  apply(entry::Edit{two, 9, "alice"});
  EXPECT_EQ(pending.first(), two);
  apply(entry::Cancel{two, "alice"});
  EXPECT_EQ(pending.first(), urgent);
}

TEST_F(Pending, WhatOneOfAShapeFindsOutHoldsForAll) {
  const JobId first = submit(2);
  const JobId second = submit(2);
  const JobId other = submit(8);
  pending.block(first);
  EXPECT_TRUE(pending.is_blocked(second));
  EXPECT_FALSE(pending.is_blocked(other));
  pending.wake(HostKind{"H100", {}, false, 0, 0}, gpus(8));
  EXPECT_TRUE(pending.is_blocked(second)) << "a host without namespaces is none for it";
  pending.wake(h100(), gpus(0));
  EXPECT_TRUE(pending.is_blocked(second));
  pending.wake(h100(), gpus(1));
  EXPECT_FALSE(pending.is_blocked(second)) << "with others it may be enough";
  pending.set_aside(first);
  EXPECT_EQ(pending.first(), other);
  const JobId third = submit(2, 7);
  EXPECT_EQ(pending.first(), other) << "it is of the same shape";
  pending.reopen();
  EXPECT_EQ(pending.first(), third);
}

TEST_F(Pending, WhoLeavesHostsOutIsAlone) {
  apply(registration(1, 4));
  const JobId picky = submit(2);
  const Token token = log.decide(picky, {member_of(1, 0, 2)});
  pending.on_changed(log.state, picky);
  apply(entry::Abort{token, Cause::kRefused, host_id(1)});
  ASSERT_EQ(log.state.job(picky)->life.left_out.size(), 1U);
  const JobId other = submit(2);
  EXPECT_EQ(pending.first(), picky);
  pending.block(picky);
  EXPECT_FALSE(pending.is_blocked(other));
  pending.wake_alone();
  EXPECT_FALSE(pending.is_blocked(picky));
  pending.set_aside(picky);
  EXPECT_EQ(pending.first(), other);
  pending.set_aside(other);
  pending.reopen_alone();
  EXPECT_EQ(pending.first(), picky);
  EXPECT_TRUE(pending.is_right(log.state));
  apply(entry::Cancel{picky, "alice"});
  EXPECT_EQ(pending.first(), std::nullopt) << "the other one is still aside";
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
      for (auto gpus = aside.begin();
           gpus != aside.end();) {  // The last of a shape takes it along.
        const bool is_left =
            std::any_of(log.state.jobs().begin(), log.state.jobs().end(), [&](const auto& each) {
              return each.second.is_pending() && each.second.spec.request.gpus == *gpus;
            });
        gpus = is_left ? std::next(gpus) : aside.erase(gpus);
      }
    } else if (what < 8) {
      apply(entry::Edit{random_job(), static_cast<std::int32_t>(rng.below(4)), "alice"});
    } else if (what == 8) {
      hidden.insert(random_job());
      for (const JobId job : hidden) {
        pending.hide(job);
      }
    } else if (what == 9 && !hidden.empty()) {
      pending.show(*hidden.begin());
      hidden.erase(hidden.begin());
    } else if (what == 10) {
      const JobId job = random_job();
      pending.set_aside(job);
      aside.insert(log.state.job(job)->spec.request.gpus);
    } else if (rng.below(4) == 0) {
      pending.reopen();
      aside.clear();
    }
    std::optional<JobId> first;
    for (const JobId job : queue_of(log.state)) {
      if (!hidden.contains(job) && !aside.contains(log.state.job(job)->spec.request.gpus)) {
        first = job;
        break;
      }
    }
    ASSERT_EQ(pending.first(), first) << "step " << i;
    ASSERT_EQ(pending.queue().size(), log.state.pending());
    ASSERT_TRUE(pending.is_right(log.state));
  }
  pending.forget_leader();
  EXPECT_EQ(pending.first(), queue_of(log.state).front());
}

}  // namespace
}  // namespace muster::scheduler
