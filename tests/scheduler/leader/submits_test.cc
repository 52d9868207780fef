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

TEST_F(OneLeader, AUsersChangesBeyondThePaceAreRefusedBeforeTheLog) {
  const Subject ann{"ann@login", "ann", HostId(), AccessTokenId(), std::nullopt};
  const Subject ben{"ben@login", "ben", HostId(), AccessTokenId(), std::nullopt};
  const ChangeLimits::Rate rate = SchedulerConfig().changes.of_user;
  const auto last_error = [&] { return replies.back().error.value_or(Error{ErrorCode::kIo, ""}); };
  const auto submit_as = [&](const Subject& by, const std::string& key) {
    give(input::ClientSubmit{++request, key, spec_of(1), by});
  };
  for (std::int64_t i = 0; i < rate.burst; ++i) {
    give(input::ClientOrder{++request, entry::Cancel{JobId(7), ann}});
  }
  EXPECT_NE(last_error().code, ErrorCode::kUnavailable);
  commit = false;
  pending.clear();
  give(input::ClientOrder{++request, entry::Cancel{JobId(7), ann}});
  EXPECT_EQ(last_error().code, ErrorCode::kUnavailable);
  EXPECT_NE(last_error().text.find("repeat it after 10 ms"), std::string::npos)
      << last_error().text;
  submit_as(ann, "a");
  EXPECT_EQ(last_error().code, ErrorCode::kUnavailable);
  EXPECT_TRUE(pending.empty()) << "none came into the log";
  submit_as(ben, "b");
  EXPECT_EQ(pending.size(), 1U);
  now += std::chrono::milliseconds(10);
  submit_as(ann, "a");
  EXPECT_EQ(pending.size(), 2U);
}

TEST_F(OneLeader, AnAdministratorIsHeardInAFloodOfTheOthers) {
  give(input::Applied{next_index(),
                      encode(Entry(entry::FoundDirectory{"root", ClusterId(), std::nullopt}))});
  const std::int64_t all = SchedulerConfig().changes.of_all.burst;
  for (std::int64_t i = 0; i < all; ++i) {
    give(input::ClientOrder{++request, entry::Cancel{JobId(7), {"a host"}}});
  }
  const auto last_error = [&] { return replies.back().error.value_or(Error{ErrorCode::kIo, ""}); };
  give(input::ClientOrder{++request, entry::Cancel{JobId(7), {"a host"}}});
  EXPECT_EQ(last_error().code, ErrorCode::kUnavailable);
  give(input::ClientOrder{
      ++request,
      entry::Cancel{JobId(7), {"root@a", "root", HostId(), AccessTokenId(), std::nullopt}}});
  EXPECT_NE(last_error().code, ErrorCode::kUnavailable) << last_error().text;
}

}  // namespace
}  // namespace muster::scheduler
