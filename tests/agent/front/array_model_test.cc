// A whole array as people see it: the states of its tasks, and those that failed.

#include <gtest/gtest.h>

#include "agent/front/array_model.h"
#include "tests/scheduler/state/cluster.h"

namespace muster::agent {
namespace {

using namespace scheduler::testing;  // NOLINT: the fixture's verbs

class ArrayModelTest : public ::testing::Test {
 protected:
  ArrayModelTest() {
    log_.apply(registration(1, 8));
    scheduler::entry::Submit fact = submission("array", 1);
    fact.spec.array = scheduler::ArrayRange{0, 9, 0};
    id_ = log_.apply(fact).job;
  }
  JobDetail detail() {
    return array_detail(log_.state, *log_.state.array(id_),
                        HostViews{addresses_, [](HostId) { return nullptr; }, Instant()});
  }

  Log log_;
  JobId id_;
  crdt::AddressBook addresses_;
};

TEST_F(ArrayModelTest, CountsAddUpToTheLength) {
  const JobDetail all = detail();
  EXPECT_EQ(all.array.queued + all.array.waiting, 10U);
  EXPECT_GT(all.array.queued, 0U);
  EXPECT_TRUE(all.array.failures.empty());
}

TEST_F(ArrayModelTest, CancelledOnesDoNotWait) {
  log_.apply(scheduler::entry::Cancel{task_id(id_, 5), {"ann"}, 9});
  const JobDetail all = detail();
  EXPECT_EQ(all.array.queued + all.array.waiting, 5U);
  EXPECT_EQ(all.summary.tasks_cancelled, 5U);
}

TEST_F(ArrayModelTest, WhatFailedIsNamedWithItsCause) {
  const Token token = log_.run(task_id(id_, 0), {member_of(1, 0, 1)});
  log_.finish(token, member_of(1, 0, 1), 3);
  log_.apply(scheduler::entry::Stop{token, scheduler::Cause::kRankFailed});
  const JobDetail all = detail();
  ASSERT_EQ(all.array.failures.size(), 1U);
  EXPECT_EQ(all.array.failures[0].task, task_id(id_, 0));
  EXPECT_EQ(all.array.failures[0].exit_code, 3);
  EXPECT_NE(all.array.failures[0].reason, "");
  EXPECT_EQ(all.array.failures[0].hosts.size(), 1U);
  EXPECT_EQ(all.array.failures_more, 0U);
}

TEST_F(ArrayModelTest, AnEndedTaskDoesNotTellWhyTheArrayIsWhereItIs) {
  const auto telling = [&] { return telling_task(log_.state, *log_.state.array(id_)); };
  EXPECT_EQ(telling(), task_id(id_, 0));
  const Token token = log_.run(task_id(id_, 0), {member_of(1, 0, 1)});
  log_.finish(token, member_of(1, 0, 1), 3);
  log_.apply(scheduler::entry::Stop{token, scheduler::Cause::kRankFailed});
  EXPECT_EQ(telling(), task_id(id_, 1));
  log_.apply(scheduler::entry::Cancel{id_, {"ann"}, 9});
  EXPECT_EQ(telling(), std::nullopt) << "all have ended";
}

}  // namespace
}  // namespace muster::agent
