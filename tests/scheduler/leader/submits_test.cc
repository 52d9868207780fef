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

class QueuesOfOneLeader : public OneLeader {
 protected:
  /// research, where three jobs may wait, with nlp and cv, where two may.
  void SetUp() override {
    entry::SetQueues set;
    for (const auto& [path, max_pending] :
         {std::pair{"research", 3U}, {"research/cv", 2U}, {"research/nlp", 0U}}) {
      QueueNode node;
      node.path = path;
      node.max_pending = max_pending;
      set.tree.nodes.push_back(node);
    }
    set.by = {"op"};
    give(input::Applied{next_index(), encode(Entry(set))});
  }

  /// The refusal of the log or the leader; "" if the job was accepted, or is on its way.
  std::string submit_to(const std::string& queue, std::uint32_t tasks = 1) {
    JobSpec spec = spec_of(1);
    spec.queue = queue;
    if (tasks > 1) {
      spec.array = ArrayRange{1, tasks, 0};
    }
    replies.clear();
    give(input::ClientSubmit{++request, "key" + std::to_string(request), spec, "alice"});
    return replies.empty() || !replies.back().error.has_value() ? "" : replies.back().error->text;
  }
};

TEST_F(QueuesOfOneLeader, AQueueWithItsMaxPendingTakesNoMore) {
  commit = false;  // Submits on their way count.
  EXPECT_EQ(submit_to("research/cv"), "");
  commit = true;
  settle();
  EXPECT_EQ(submit_to("research/cv"), "");
  EXPECT_EQ(submit_to("research/cv"),
            "too many jobs wait: queue research/cv has max-pending 2, and 2 jobs wait there: "
            "repeat it after 10000 ms");
  EXPECT_EQ(replies.back().error->code, ErrorCode::kUnavailable);
  EXPECT_EQ(replies.back().retry_after, std::chrono::seconds(10));
  EXPECT_EQ(submit_to("research/nlp", 2),
            "too many jobs wait: queue research has max-pending 3, and 2 jobs wait there, without "
            "the 2 tasks of this array: repeat it after 10000 ms");
  EXPECT_EQ(submit_to("research/nlp", 4),
            "queue research has max-pending 3, and the array has 4 tasks");
  EXPECT_EQ(replies.back().error->code, ErrorCode::kInvalid);
  EXPECT_EQ(submit_to("research/nlp"), "");
  EXPECT_NE(submit_to("research/nlp"), "");
  EXPECT_EQ(submit_to("default"), "") << "another queue";
  give(input::ClientOrder{++request, entry::Cancel{JobId(1), "op"}});
  EXPECT_EQ(submit_to("research/nlp"), "") << "there is room again";
}

TEST_F(QueuesOfOneLeader, SubmitsOnTheirWayCount) {
  commit = false;
  EXPECT_EQ(submit_to("research/cv"), "");
  EXPECT_EQ(submit_to("research/cv"), "");
  EXPECT_NE(submit_to("research/cv").find("2 jobs wait there"), std::string::npos);
  EXPECT_EQ(submit_to("research/nlp"), "");
  EXPECT_NE(submit_to("research/nlp").find("3 jobs wait there"), std::string::npos);
}

/// A job under one key, submitted again with another place.
class RepeatedPlace : public OneLeader {
 protected:
  void SetUp() override {
    entry::SetQueues set;
    set.tree.nodes.resize(2);
    set.tree.nodes[0].path = "nlp";
    set.tree.nodes[1].path = "prod";
    set.by = {"op"};
    give(input::Applied{next_index(), encode(Entry(set))});
  }
  /// The refusal; "" if it is the first job, or on its way.
  std::string submit_place(const std::string& queue, Tier tier, Duration limit) {
    JobSpec spec = spec_of(1);
    spec.queue = queue;
    spec.tier = tier;
    spec.limits.time_limit = limit;
    replies.clear();
    give(input::ClientSubmit{++request, "key", spec, "alice"});
    return replies.empty() || !replies.back().error.has_value() ? "" : replies.back().error->text;
  }
  /// Of a job that was submitted to nlp, as batch, for an hour.
  void expect_differences() {
    using std::chrono::hours;
    struct Row {
      std::string queue;
      Tier tier;
      Duration limit;
      std::string refused_with;
    };
    for (const Row& row : std::vector<Row>{{"nlp", Tier::kBatch, hours(1), ""},
                                           {"", Tier::kNone, Duration(0), ""},
                                           {"gone", Tier::kNone, Duration(0), ""},
                                           {"prod", Tier::kBatch, hours(1), "another queue"},
                                           {"", Tier::kPremium, hours(1), "another tier"},
                                           {"nlp", Tier::kNone, hours(2), "another time limit"},
                                           {"", Tier::kNone, kNoTimeLimit, "another time limit"}}) {
      const std::string refusal = submit_place(row.queue, row.tier, row.limit);
      EXPECT_EQ(refusal.empty(), row.refused_with.empty()) << refusal;
      EXPECT_NE(refusal.find(row.refused_with), std::string::npos) << refusal;
    }
  }
};

TEST_F(RepeatedPlace, AnotherQueueTierOrTimeLimitIsAnotherJob) {
  EXPECT_EQ(submit_place("nlp", Tier::kBatch, std::chrono::hours(1)), "");
  expect_differences();
  EXPECT_EQ(scheduler.state().jobs().size(), 1U);
}

TEST_F(RepeatedPlace, WhileItIsOnItsWayToo) {
  commit = false;
  EXPECT_EQ(submit_place("nlp", Tier::kBatch, std::chrono::hours(1)), "");
  expect_differences();
}

TEST_F(RepeatedPlace, AJobThatWasEditedSinceIsTheSame) {
  const Subject ann{"ann@a", "ann", HostId(), AccessTokenId(), std::nullopt};
  EXPECT_EQ(submit_place("nlp", Tier::kBatch, std::chrono::hours(1)), "");
  const JobId job = replies.back().job;
  give(input::ClientOrder{++request, entry::Edit{job, 0, ann, true, "prod", Tier::kNone, {}}});
  ASSERT_FALSE(replies.back().error.has_value()) << replies.back().error->text;
  EXPECT_EQ(submit_place("nlp", Tier::kBatch, std::chrono::hours(1)), "");
  EXPECT_EQ(replies.back().job, job);
}

/// A job under one key, submitted again with other conditions; of an array or not.
class RepeatedConditions : public OneLeader, public ::testing::WithParamInterface<bool> {
 protected:
  /// The refusal; "" if it is the first job, or on its way.
  std::string submit_after(const std::vector<Dependency>& after, Duration begin) {
    JobSpec spec = spec_of(1);
    spec.eligibility.after = after;
    spec.eligibility.begin = begin;
    if (GetParam()) {
      spec.array = ArrayRange{1, 3, 0};
    }
    replies.clear();
    give(input::ClientSubmit{++request, "key", spec, "alice"});
    return replies.empty() || !replies.back().error.has_value() ? "" : replies.back().error->text;
  }
  /// Under way or known, according to `commit`.
  void expect_differences(JobId one, JobId other) {
    using std::chrono::seconds;
    const std::vector<Dependency> after = {{Ending::kOk, one}, {Ending::kAny, other}};
    EXPECT_EQ(submit_after(after, seconds(10)), "");
    EXPECT_EQ(submit_after(after, seconds(7)), "") << "later, for the same time";
    EXPECT_EQ(submit_after({after[1], after[0]}, seconds(7)), "") << "all of them count";
    for (const std::vector<Dependency>& wrong :
         std::vector<std::vector<Dependency>>{{},
                                              {after[0]},
                                              {after[0], after[0]},
                                              {{Ending::kOk, other}, {Ending::kAny, one}},
                                              {{Ending::kFail, one}, {Ending::kAny, other}},
                                              {after[0], after[1], {Ending::kAny, one}}}) {
      const std::string refusal = submit_after(wrong, seconds(10));
      EXPECT_NE(refusal.find("other conditions of its begin"), std::string::npos) << refusal;
    }
  }
};

TEST_P(RepeatedConditions, OtherConditionsAreAnotherJob) {
  join(1);
  const JobId one = submit(1, "one");
  const JobId other = submit(1, "other");
  expect_differences(one, other);
}

TEST_P(RepeatedConditions, WhileItIsOnItsWayToo) {
  join(1);
  const JobId one = submit(1, "one");
  const JobId other = submit(1, "other");
  commit = false;
  expect_differences(one, other);
}

TEST_P(RepeatedConditions, OnesThatWereMetStillCount) {
  join(1);
  const JobId one = submit(1, "one");
  const JobId other = submit(1, "other");
  give(input::ClientOrder{++request, entry::Cancel{other, "op"}});
  ASSERT_TRUE(job(other).has_ended());
  expect_differences(one, other);
}

INSTANTIATE_TEST_SUITE_P(JobsAndArrays, RepeatedConditions, ::testing::Bool());

}  // namespace
}  // namespace muster::scheduler
