// Edits of jobs and arrays: what may change in which state, and where a job may go.

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "scheduler/protocol/codec.h"
#include "scheduler/state/array_book.h"
#include "scheduler/state/state.h"
#include "tests/scheduler/policy/queue_of.h"
#include "tests/scheduler/state/cluster.h"

namespace muster::scheduler {
namespace {

using namespace std::chrono_literals;  // NOLINT: literals only.
using namespace testing;               // NOLINT: the fixture's verbs

QueueNode node_of(const std::string& path, std::vector<Tier> tiers,
                  std::vector<std::string> members, std::optional<Duration> limit_max = {}) {
  QueueNode node;
  node.path = path;
  node.tiers = std::move(tiers);
  node.members = std::move(members);
  node.time_limit_max = limit_max;
  return node;
}

/// research/nlp for alice, with batch and premium up to 12 h; research/vision for bob; service
/// without limits.
QueueTree tree_of_edits() {
  QueueTree tree;
  tree.nodes = {node_of("research", {}, {}),
                node_of("research/nlp", {Tier::kBatch, Tier::kPremium}, {"alice"}, 12h),
                node_of("research/vision", {}, {"bob"}),
                node_of("service", {Tier::kInference}, {}, kNoTimeLimit)};
  return tree;
}

class EditTest : public ::testing::Test {
 protected:
  EditTest() { log.apply(registration(1, 8)); }

  void set_queues() {
    EXPECT_EQ(log.apply(entry::SetQueues{0, tree_of_edits(), {}, "ann"}).rejected, "");
  }
  entry::Submit alices(const std::string& queue = "") {
    entry::Submit fact = submission("key" + std::to_string(log.index().value()), 1);
    fact.spec.user = "alice";
    fact.spec.queue = queue;
    return fact;
  }
  JobId submit(const std::string& queue = "", Duration limit = Duration(0)) {
    entry::Submit fact = alices(queue);
    fact.spec.limits.time_limit = limit;
    const ApplyResult result = log.apply(fact);
    EXPECT_EQ(result.rejected, "");
    return result.job;
  }
  Token run(JobId id, std::uint32_t gpu = 0) { return log.run(id, {member_of(1, gpu, 1)}); }
  static entry::Edit edit_of(JobId id, const std::string& queue = "", Tier tier = Tier::kNone,
                             std::optional<Duration> limit = {}, bool adds = false) {
    return {id, 0, {"alice@a"}, true, queue, tier, limit, adds};
  }
  /// It is refused as `code`, with that in its words, and changes nothing.
  void expect_refused(const entry::Edit& fact, ErrorCode code, const std::string& words) {
    const Job before = *log.state.job(fact.job);
    const ApplyResult result = log.apply(fact);
    EXPECT_NE(result.rejected.find(words), std::string::npos) << result.rejected;
    EXPECT_EQ(result.rejected_as, code) << result.rejected;
    EXPECT_TRUE(*log.state.job(fact.job) == before) << result.rejected;
    EXPECT_TRUE(result.jobs_moved.empty());
  }
  void expect_done(const entry::Edit& fact) { EXPECT_EQ(log.apply(fact).rejected, ""); }
  const JobSpec& spec(JobId id) { return log.state.job(id)->spec; }

  Log log;
};

TEST_F(EditTest, AWaitingJobGoesToAnotherQueue) {
  set_queues();
  const JobId id = submit("default");
  const ApplyResult result = log.apply(edit_of(id, "research/nlp", Tier::kBatch, 8h));
  EXPECT_EQ(result.rejected, "");
  EXPECT_EQ(result.jobs_moved, std::vector<JobId>{id});
  EXPECT_TRUE(result.capacity_changed);
  EXPECT_EQ(spec(id).queue, "research/nlp");
  EXPECT_EQ(spec(id).tier, Tier::kBatch);
  EXPECT_EQ(spec(id).limits.time_limit, Duration(8h));
  ASSERT_EQ(result.events.size(), 1U);
  EXPECT_EQ(result.events[0].name, "job_edited");
  EXPECT_EQ(result.events[0].field("queue"), "research/nlp");
  EXPECT_EQ(result.events[0].field("tier"), "batch");
  EXPECT_EQ(result.events[0].field("time_limit_ms"), "28800000");
  EXPECT_EQ(result.events[0].field("by"), "alice@a");
  EXPECT_TRUE(log.apply(edit_of(id, "research/nlp", Tier::kBatch, 8h)).events.empty())
      << "said again";
}

TEST_F(EditTest, ASuspendedJobGoesToo) {
  set_queues();
  const JobId id = submit("default");
  log.apply(entry::Suspend{id, "alice"});
  entry::Edit fact = edit_of(id, "research/nlp", Tier::kPremium, 1h);
  fact.keeps_priority = false;
  fact.priority = 4;
  expect_done(fact);
  EXPECT_EQ(spec(id).queue, "research/nlp");
  EXPECT_EQ(log.state.job(id)->orders.priority, 4);
}

TEST_F(EditTest, WithoutATierTheJobKeepsItsOwnIfThatQueueHasIt) {
  set_queues();
  const JobId standard = submit("default", 1h);
  expect_done(edit_of(standard, "research/nlp"));
  EXPECT_EQ(spec(standard).tier, Tier::kBatch) << "the first one there";
  const JobId premium = submit("default", 1h);
  expect_done(edit_of(premium, "", Tier::kPremium));
  expect_done(edit_of(premium, "research/nlp"));
  EXPECT_EQ(spec(premium).tier, Tier::kPremium);
}

TEST_F(EditTest, QueueAndTierAreCheckedAsThoseOfASubmit) {
  set_queues();
  const JobId id = submit("research/nlp", 2h);
  expect_refused(edit_of(id, "research/nlq"), ErrorCode::kNotFound, "research/nlp");
  expect_refused(edit_of(id, "research"), ErrorCode::kInvalid, "research/nlp");
  expect_refused(edit_of(id, "research/vision"), ErrorCode::kDenied, "bob");
  expect_refused(edit_of(id, "", Tier::kStandard), ErrorCode::kInvalid, "batch, premium");
  expect_refused(edit_of(id, "service", Tier::kBatch), ErrorCode::kInvalid, "inference");
  expect_refused(edit_of(id), ErrorCode::kInvalid, "at least one");
}

TEST_F(EditTest, TheTimeLimitIsWithinThatOfTheQueue) {
  set_queues();
  const JobId id = submit("research/nlp", 2h);
  expect_refused(edit_of(id, "", Tier::kNone, 13h), ErrorCode::kInvalid, "12");
  expect_refused(edit_of(id, "", Tier::kNone, 11h, true), ErrorCode::kInvalid, "12");
  expect_refused(edit_of(id, "", Tier::kNone, kNoTimeLimit), ErrorCode::kInvalid, "12");
  expect_refused(edit_of(id, "", Tier::kNone, Duration(0)), ErrorCode::kInvalid, "above 0");
  expect_done(edit_of(id, "", Tier::kNone, 10h, true));
  EXPECT_EQ(spec(id).limits.time_limit, Duration(12h));
  expect_done(edit_of(id, "default"));
  expect_refused(edit_of(id, "", Tier::kNone, kNoTimeLimit), ErrorCode::kInvalid, "has to have");
  expect_done(edit_of(id, "", Tier::kNone, 20h));
  expect_refused(edit_of(id, "research/nlp"), ErrorCode::kInvalid, "12");
  expect_done(edit_of(id, "service", Tier::kNone, kNoTimeLimit));
  EXPECT_EQ(spec(id).limits.time_limit, Duration(0));
  EXPECT_EQ(spec(id).tier, Tier::kInference);
  expect_refused(edit_of(id, "", Tier::kNone, 4h, true), ErrorCode::kInvalid, "no time limit");
  expect_refused(edit_of(id, "default", Tier::kBatch), ErrorCode::kInvalid, "has to have");
}

TEST_F(EditTest, WhileNobodyHasSetQueuesThereIsOne) {
  const JobId id = submit();
  expect_refused(edit_of(id, "research"), ErrorCode::kNotFound, "default");
  for (const Tier tier : {Tier::kInference, Tier::kInteractive, Tier::kBatch}) {
    expect_done(edit_of(id, "default", tier));
    EXPECT_EQ(spec(id).tier, tier);
  }
  expect_done(edit_of(id, "", Tier::kNone, 24h * 300));
  expect_refused(edit_of(id, "", Tier::kNone, kSpanMax, true), ErrorCode::kInvalid, "a year");
  expect_refused(edit_of(id, "", Tier::kNone, kNoTimeLimit, true), ErrorCode::kInvalid, "a year");
  expect_done(edit_of(id, "", Tier::kNone, kNoTimeLimit));
  EXPECT_EQ(spec(id).limits.time_limit, Duration(0));
}

TEST_F(EditTest, OfAJobWithAnAttemptTheTimeLimitAloneChanges) {
  set_queues();
  const JobId id = submit("default", 2h);
  run(id);
  log.apply(entry::Tick{1h});
  log.apply(entry::Tick{3min});
  expect_refused(edit_of(id, "research/nlp", Tier::kBatch, 3h), ErrorCode::kConflict,
                 "job " + text_of(id) + " is running: its queue and tier cannot change");
  entry::Edit fact = edit_of(id);
  fact.keeps_priority = false;
  fact.priority = 9;
  expect_refused(fact, ErrorCode::kConflict, "priority");
  expect_refused(edit_of(id, "", Tier::kNone, 1h), ErrorCode::kInvalid, "has run for 1h 3m");
  expect_refused(edit_of(id, "", Tier::kNone, 1h + 3min), ErrorCode::kInvalid, "1h 3m");
  const ApplyResult result = log.apply(edit_of(id, "", Tier::kNone, 4h, true));
  EXPECT_EQ(result.rejected, "");
  EXPECT_TRUE(result.jobs_moved.empty());
  EXPECT_EQ(spec(id).limits.time_limit, Duration(6h));
  expect_done(edit_of(id, "default", Tier::kNone, 64min));
}

TEST_F(EditTest, OfAJobThatIsScheduledOrStopsTheTimeLimitChangesToo) {
  const JobId id = submit("", 2h);
  const Token token = log.decide(id, {member_of(1, 0, 1)});
  expect_refused(edit_of(id, "", Tier::kBatch), ErrorCode::kConflict, "is scheduled: its tier");
  expect_done(edit_of(id, "", Tier::kNone, 1s));
  log.ready(token);
  log.apply(entry::Start{token});
  log.apply(entry::Stop{token, Cause::kHostLost});
  expect_refused(edit_of(id, "", Tier::kBatch), ErrorCode::kConflict, "is stopping: its tier");
  expect_done(edit_of(id, "", Tier::kNone, kNoTimeLimit));
}

TEST_F(EditTest, AnEndedJobStays) {
  const JobId id = submit();
  const Token token = run(id);
  log.finish(token, member_of(1, 0, 1), 0);
  expect_refused(edit_of(id, "", Tier::kNone, 1h), ErrorCode::kConflict, "has completed");
  EXPECT_EQ(log.apply(edit_of(JobId(99), "", Tier::kBatch)).rejected_as, ErrorCode::kNotFound);
}

TEST_F(EditTest, AnOperatorPutsAJobWhereItsUserIsNoMember) {
  log.apply(entry::FoundDirectory{"carol"});
  DirectoryChange change;
  change.users = {{"alice", false, UserRole::kLead, {}, {}, {}, {}},
                  {"olga", false, UserRole::kOperator, {}, {}, {}, {}}};
  const auto person = [](const std::string& user) {
    return Subject{user + "@a", user, host_id(1)};
  };
  ASSERT_EQ(log.apply(entry::ChangeDirectory{change, person("carol")}).rejected, "");
  ASSERT_EQ(log.apply(entry::SetQueues{0, tree_of_edits(), {}, person("carol")}).rejected, "");
  entry::Submit fact = alices("default");
  fact.by = person("alice");
  const JobId id = log.apply(fact).job;
  entry::Edit edit = edit_of(id, "research/vision");
  edit.by = person("alice");
  expect_refused(edit, ErrorCode::kDenied, "is for bob");
  edit.by = person("olga");
  expect_done(edit);
  EXPECT_EQ(spec(id).queue, "research/vision");
  EXPECT_EQ(spec(id).user, "alice");
  edit.tier = Tier::kPremium;
  expect_done(edit);
}

class ArrayEdits : public EditTest {
 protected:
  void submit_array(Duration limit) {
    entry::Submit fact = alices();
    fact.spec.array = ArrayRange{0, 99, 0};
    fact.spec.limits.time_limit = limit;
    id = log.apply(fact).job;
    run(task_id(id, 0));
    log.apply(entry::Tick{30min});
  }
  JobId id;
};

TEST_F(ArrayEdits, ChangeTheTasksToComeAndThoseThatWait) {
  set_queues();
  submit_array(2h);
  ASSERT_EQ(spec(task_id(id, 0)).queue, "research/nlp") << "alice is a member there";
  const JobId waits = task_id(id, 1);
  ASSERT_EQ(log.state.job(waits)->life.state, JobState::kQueued);
  const ApplyResult result = log.apply(edit_of(id, "default", Tier::kPremium, 20h));
  EXPECT_NE(result.rejected.find("12"), std::string::npos) << "the running task is in nlp";
  EXPECT_EQ(spec(waits).queue, "research/nlp") << "all stay as they are";
  EXPECT_EQ(log.apply(edit_of(id, "default", Tier::kPremium, 10h)).rejected, "");
  EXPECT_EQ(log.state.array(id)->spec.queue, "default");
  EXPECT_EQ(spec(waits).queue, "default");
  EXPECT_EQ(spec(waits).tier, Tier::kPremium);
  EXPECT_EQ(spec(waits).limits.time_limit, Duration(10h));
  EXPECT_EQ(spec(task_id(id, 0)).queue, "research/nlp") << "it runs";
  EXPECT_EQ(spec(task_id(id, 0)).limits.time_limit, Duration(10h));
  run(waits, 1);
  const JobId later = task_id(id, 3);
  ASSERT_NE(log.state.job(later), nullptr);
  EXPECT_EQ(spec(later).queue, "default");
  EXPECT_EQ(spec(later).limits.time_limit, Duration(10h));
}

TEST_F(ArrayEdits, AddTimeToEachTask) {
  submit_array(2h);
  EXPECT_EQ(log.apply(edit_of(id, "", Tier::kNone, 10min)).rejected,
            "job " + text_of(task_id(id, 0)) +
                " has run for 30m already: a time limit has to be above that");
  EXPECT_EQ(log.state.array(id)->spec.limits.time_limit, Duration(2h));
  expect_done(edit_of(task_id(id, 1), "", Tier::kNone, kNoTimeLimit));
  EXPECT_EQ(log.apply(edit_of(id, "", Tier::kNone, 4h, true)).rejected, "");
  EXPECT_EQ(log.state.array(id)->spec.limits.time_limit, Duration(6h));
  EXPECT_EQ(spec(task_id(id, 0)).limits.time_limit, Duration(6h));
  EXPECT_EQ(spec(task_id(id, 1)).limits.time_limit, Duration(0)) << "it has none";
}

TEST_F(ArrayEdits, KeepThePriorityUnlessTheySayOne) {
  submit_array(2h);
  entry::Edit fact = edit_of(id);
  fact.keeps_priority = false;
  fact.priority = 6;
  EXPECT_EQ(log.apply(fact).rejected, "");
  expect_done(edit_of(task_id(id, 1), "", Tier::kBatch));
  EXPECT_EQ(log.apply(edit_of(id, "", Tier::kBatch)).rejected, "");
  EXPECT_EQ(log.state.array(id)->priority, 6);
  EXPECT_EQ(log.state.job(task_id(id, 1))->orders.priority, 6);
  EXPECT_EQ(log.state.job(task_id(id, 0))->orders.priority, 0) << "it runs";
}

}  // namespace
}  // namespace muster::scheduler
