// The answers to clients about submits that the log answers late, or twice.

#include <gtest/gtest.h>

#include "tests/scheduler/leader/one_leader.h"

namespace muster::scheduler {
namespace {

using namespace testing;  // NOLINT: the fixture's verbs

TEST_F(OneLeader, ASubmitThatTheLogMayHoldTwiceIsNotSurelyRefused) {
  commit = false;
  submit(1, "a");
  pass(SchedulerConfig().propose_again);
  submit(1, "a");
  ASSERT_EQ(pending.size(), 2U);
  for (std::size_t i = 0; i < kJobsQueuedMax; ++i) {
    give(input::Applied{next_index(), encode(Entry(submission("other" + std::to_string(i), 1)))});
  }
  replies.clear();
  give(input::Applied{next_index(), pending[0]});
  ASSERT_EQ(replies.size(), 2U);
  for (const ClientReply& reply : replies) {
    ASSERT_TRUE(reply.error.has_value());
    EXPECT_EQ(reply.error->code, ErrorCode::kUnknown);
  }
  give(input::Applied{next_index(), encode(Entry(entry::Cancel{JobId(1), "ann"}))});
  give(input::Applied{next_index(), pending[1]});
  EXPECT_TRUE(scheduler.state().job_of_key("a").has_value()) << "accepted after all";
}

}  // namespace
}  // namespace muster::scheduler
