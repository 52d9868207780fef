// The queue, tier and time limit that a Submit gets from the tree of queues, and what a change of
// the tree does to jobs, arrays, attempts and their shares.

#include "scheduler/state/queue_rules.h"

#include <gtest/gtest.h>

#include "scheduler/state/array_snapshot.h"
#include "scheduler/state/queue_snapshot.h"
#include "tests/scheduler/state/cluster.h"

namespace muster::scheduler {
namespace {

using namespace std::chrono_literals;  // NOLINT: literals only.
using namespace testing;               // NOLINT: the fixture's verbs

constexpr char kPool[] = "h100";

QueueNode node_at(const std::string& path) {
  QueueNode node;
  node.path = path;
  return node;
}

std::vector<QueueNode> nodes_at(const std::vector<std::string>& paths) {
  std::vector<QueueNode> nodes;
  for (const std::string& path : paths) {
    nodes.push_back(node_at(path));
  }
  return nodes;
}

/// research with cv and nlp, whose jobs have a limit, and serving of ann, whose jobs need none.
std::vector<QueueNode> some_nodes() {
  std::vector<QueueNode> nodes =
      nodes_at({"research", "research/cv", "research/nlp", "serving", "short"});
  nodes[0].tiers = {Tier::kBatch, Tier::kStandard};
  nodes[0].max = {{"gpus", 12}, {"cpus", 3}};
  nodes[1].time_limit_max = 12h;
  nodes[2].members = {"@nlp", "carl", "dora", "emil", "fred"};
  nodes[2].max = {{kPool, 4}, {"a100", 2}};
  nodes[3].members = {"ann"};
  nodes[3].tiers = {Tier::kInference};
  nodes[3].time_limit_max = kNoTimeLimit;
  nodes[4].time_limit_max = 1h;
  return nodes;
}

/// A founded cluster of two hosts with eight GPUs each. Users: op operates, bob is in team nlp.
class QueueRulesTest : public ::testing::Test {
 protected:
  QueueRulesTest() {
    entry::Enrol enrol;
    enrol.host = host_id(1);
    enrol.authority = 1;
    enrol.edition = 1;
    enrol.record = "record";
    enrol.may_vouch = true;
    log.apply(enrol);
    log.apply(registration(1, 8));
    log.apply(registration(2, 8));
    log.apply(entry::FoundDirectory{"admin"});
    DirectoryChange change;
    change.teams = {{"nlp"}};
    change.users = {{"op", false, UserRole::kOperator, {}, {}},
                    {"bob", false, UserRole::kUser, {"nlp"}, {}}};
    const ApplyResult result = log.apply(entry::ChangeDirectory{change, person("admin")});
    EXPECT_EQ(result.rejected, "");
  }

  static Subject person(const std::string& user) { return {user + "@n", user, host_id(1)}; }
  entry::Submit submit_of(const std::string& user, const std::string& queue = "") {
    entry::Submit fact = submission("key" + std::to_string(log.index().value()), 1);
    fact.spec.user = user;
    fact.spec.queue = queue;
    fact.by = person(user);
    return fact;
  }
  JobId submit(const std::string& user, const std::string& queue = "") {
    const ApplyResult result = log.apply(submit_of(user, queue));
    EXPECT_EQ(result.rejected, "");
    return result.job;
  }
  ApplyResult set(std::vector<QueueNode> nodes, std::vector<QueueMove> moves = {},
                  const std::string& by = "op") {
    return log.apply(entry::SetQueues{log.state.queues().version(),
                                      {kHalfLifeDefault, std::move(nodes)},
                                      std::move(moves),
                                      person(by)});
  }
  const JobSpec& spec(JobId id) const { return log.state.job(id)->spec; }
  std::uint64_t held(const std::string& path) const {
    return log.state.shares().share(log.state.queues().find(path).value(), kPool).held;
  }
  std::uint64_t held_by(const std::string& path, const std::string& user) const {
    return log.state.shares().share(log.state.queues().find(path).value(), user, kPool).held;
  }

  Log log;
};

TEST_F(QueueRulesTest, BeforeQueuesAreSetAJobIsInTheOneLineWithoutALimit) {
  const JobId plain = submit("ann");
  EXPECT_EQ(spec(plain).queue, "default");
  EXPECT_EQ(spec(plain).tier, Tier::kStandard);
  EXPECT_EQ(spec(plain).limits.time_limit, 0s);
  entry::Submit fact = submit_of("ann", "default");
  fact.spec.limits.time_limit = kNoTimeLimit;
  fact.spec.tier = Tier::kPremium;
  const JobId unlimited = log.apply(fact).job;
  EXPECT_EQ(spec(unlimited).limits.time_limit, 0s);
  EXPECT_EQ(spec(unlimited).tier, Tier::kPremium);
  const ApplyResult unknown = log.apply(submit_of("ann", "research"));
  EXPECT_EQ(unknown.rejected_as, ErrorCode::kNotFound);
  EXPECT_NE(unknown.rejected.find("the nearest one is default"), std::string::npos);
  EXPECT_EQ(log.apply(submit_of("ann", "a b")).rejected_as, ErrorCode::kInvalid);
}

TEST_F(QueueRulesTest, AJobThatNamesNoQueueIsInTheFirstOneThatNamesItsUser) {
  ASSERT_EQ(set(some_nodes()).rejected, "");
  EXPECT_EQ(spec(submit("ann")).queue, "serving");
  EXPECT_EQ(spec(submit("bob")).queue, "research/nlp") << "by the team";
  EXPECT_EQ(spec(submit("carl")).queue, "research/nlp");
  EXPECT_EQ(spec(submit("eve")).queue, "default");
  std::vector<QueueNode> nodes = nodes_at({"default", "serving"});
  nodes[0].members = {"gina"};
  ASSERT_EQ(set(nodes, {{"research/nlp", "serving"}}).rejected, "");
  const ApplyResult nowhere = log.apply(submit_of("eve"));
  EXPECT_EQ(nowhere.rejected_as, ErrorCode::kDenied);
  EXPECT_NE(nowhere.rejected.find("queue default is for gina"), std::string::npos);
}

TEST_F(QueueRulesTest, AMemberOfAParentIsOneOfTheLeavesBelow) {
  std::vector<QueueNode> nodes = nodes_at({"a", "a/b", "a/c"});
  nodes[0].members = {"ann"};
  nodes[1].members = {"bob"};
  ASSERT_EQ(set(nodes).rejected, "");
  EXPECT_EQ(spec(submit("ann")).queue, "a/c");
  EXPECT_EQ(log.apply(submit_of("ann", "a/b")).rejected_as, ErrorCode::kDenied);
}

struct SubmitRow {
  const char* name;
  const char* user;
  const char* queue;
  Tier tier;
  Duration limit;
  std::uint32_t gpus;
  std::vector<std::string> types;
  ErrorCode code;
  const char* why;  ///< Part of the text; "" = it is accepted.
};

/// In the tree of some_nodes().
const SubmitRow kSubmitRows[] = {
    {"accepted", "eve", "research/cv", Tier::kStandard, 12h, 12, {}, {}, ""},
    {"unknown",
     "eve",
     "reserch/cv",
     Tier::kNone,
     0s,
     1,
     {},
     ErrorCode::kNotFound,
     "the nearest one is research/cv"},
    {"last name",
     "eve",
     "nlp",
     Tier::kNone,
     0s,
     1,
     {},
     ErrorCode::kNotFound,
     "the nearest one is research/nlp"},
    {"parent",
     "eve",
     "research",
     Tier::kNone,
     0s,
     1,
     {},
     ErrorCode::kInvalid,
     "has queues below it, and jobs are in those: try research/cv"},
    {"no member",
     "eve",
     "research/nlp",
     Tier::kNone,
     0s,
     1,
     {},
     ErrorCode::kDenied,
     "user eve is no member of queue research/nlp, which is for @nlp, carl, dora and 2 more"},
    {"tier",
     "eve",
     "research/cv",
     Tier::kPremium,
     0s,
     1,
     {},
     ErrorCode::kInvalid,
     "queue research/cv has no tier premium, only: batch, standard"},
    {"limit",
     "eve",
     "research/cv",
     Tier::kNone,
     13h,
     1,
     {},
     ErrorCode::kInvalid,
     "the time limit of a job in queue research/cv is at most 12h"},
    {"no limit",
     "eve",
     "default",
     Tier::kNone,
     kNoTimeLimit,
     1,
     {},
     ErrorCode::kInvalid,
     "a job in queue default has to have a time limit"},
    {"no limit in a bounded queue",
     "eve",
     "short",
     Tier::kInference,
     kNoTimeLimit,
     1,
     {},
     ErrorCode::kInvalid,
     "the time limit of a job in queue short is at most 1h"},
    {"inference needs none", "eve", "default", Tier::kInference, kNoTimeLimit, 1, {}, {}, ""},
    {"nor does this queue", "ann", "serving", Tier::kNone, kNoTimeLimit, 1, {}, {}, ""},
    {"long elsewhere", "eve", "default", Tier::kNone, 300h, 1, {}, {}, ""},
    {"gpus",
     "eve",
     "research/cv",
     Tier::kNone,
     0s,
     13,
     {},
     ErrorCode::kImpossible,
     "can never start: it counts as 13 GPUs, and queue research has max gpus 12"},
    {"type",
     "bob",
     "research/nlp",
     Tier::kNone,
     0s,
     5,
     {"H100"},
     ErrorCode::kImpossible,
     "can never start: it counts as 5 GPUs, and queue research/nlp has max h100 4"},
    {"both types",
     "bob",
     "research/nlp",
     Tier::kNone,
     0s,
     5,
     {"H100", "A100"},
     ErrorCode::kImpossible,
     "queue research/nlp has max a100 2"},
    {"one of the types", "bob", "research/nlp", Tier::kNone, 0s, 4, {"A100", "H100"}, {}, ""},
    {"a free type", "bob", "research/nlp", Tier::kNone, 0s, 5, {"H100", "B200"}, {}, ""},
    {"any type", "bob", "research/nlp", Tier::kNone, 0s, 5, {}, {}, ""},
    {"cpus",
     "eve",
     "research/cv",
     Tier::kNone,
     0s,
     0,
     {},
     ErrorCode::kImpossible,
     "counts as 4 CPUs, and queue research has max cpus 3"},
};

TEST_F(QueueRulesTest, WhatASubmitMayNotAskFor) {
  ASSERT_EQ(set(some_nodes()).rejected, "");
  for (const SubmitRow& row : kSubmitRows) {
    entry::Submit fact = submit_of(row.user, row.queue);
    fact.spec.tier = row.tier;
    fact.spec.limits.time_limit = row.limit;
    fact.spec.request.gpus = row.gpus;
    fact.spec.request.ranks = row.gpus == 0 ? 4 : 0;
    fact.spec.request.gpu_types = row.types;
    const ApplyResult result = log.apply(fact);
    if (*row.why == '\0') {
      EXPECT_EQ(result.rejected, "") << row.name;
      continue;
    }
    EXPECT_EQ(result.rejected_as, row.code) << row.name;
    EXPECT_NE(result.rejected.find(row.why), std::string::npos)
        << row.name << ": " << result.rejected;
  }
}

TEST_F(QueueRulesTest, AJobWithoutATimeLimitGetsThatOfItsTier) {
  ASSERT_EQ(set(some_nodes()).rejected, "");
  struct Row {
    Tier tier;
    Duration usual;
    Duration in_short;
  };
  for (const Row& row : {Row{Tier::kPremium, 24h, 1h}, Row{Tier::kStandard, 24h, 1h},
                         Row{Tier::kNone, 24h, 1h}, Row{Tier::kBatch, 2h, 1h},
                         Row{Tier::kInteractive, 8h, 1h}, Row{Tier::kInference, 0s, 1h}}) {
    for (const char* queue : {"default", "short"}) {
      entry::Submit fact = submit_of("eve", queue);
      fact.spec.tier = row.tier;
      const JobId id = log.apply(fact).job;
      ASSERT_NE(id, JobId());
      EXPECT_EQ(spec(id).limits.time_limit,
                queue == std::string("short") ? row.in_short : row.usual)
          << queue << text_of(row.tier);
    }
  }
  EXPECT_EQ(spec(submit("ann")).limits.time_limit, 0s) << "inference";
  EXPECT_EQ(spec(submit("bob")).tier, Tier::kBatch) << "the first tier of its queue";
}

TEST_F(QueueRulesTest, TheTasksOfAnArrayAreWhereItIs) {
  ASSERT_EQ(set(some_nodes()).rejected, "");
  entry::Submit fact = submit_of("bob");
  fact.spec.array = ArrayRange{0, 9, 0};
  const JobId id = log.apply(fact).job;
  EXPECT_EQ(log.state.array(id)->spec.queue, "research/nlp");
  EXPECT_EQ(spec(task_id(id, 0)).queue, "research/nlp");
  EXPECT_EQ(spec(task_id(id, 0)).tier, Tier::kBatch);
  EXPECT_EQ(set(nodes_at({"a"})).rejected,
            "1 job is in queues where the new tree has no place for jobs: research/nlp; wait until "
            "it ends, or say with --move-to where it goes")
      << "one array is one job";
  const ApplyResult moved = set(nodes_at({"a"}), {{"research", "a"}});
  EXPECT_EQ(moved.rejected, "");
  EXPECT_EQ(moved.jobs_moved, std::vector<JobId>{task_id(id, 0)});
  EXPECT_EQ(log.state.array(id)->spec.queue, "a");
  EXPECT_EQ(spec(task_id(id, 0)).queue, "a");
}

TEST_F(QueueRulesTest, AChangeCountsForTheTreeThatItWasMadeFrom) {
  const ApplyResult first = set(some_nodes());
  ASSERT_EQ(first.rejected, "");
  EXPECT_TRUE(first.queues_changed);
  EXPECT_TRUE(first.capacity_changed);
  ASSERT_EQ(first.events.size(), 1U);
  EXPECT_EQ(first.events[0].name, "queues_changed");
  using Fields = decltype(Event::fields);
  EXPECT_EQ(first.events[0].fields, (Fields{{"by", "op@n"}, {"version", "1"}, {"queues", "5"}}));
  EXPECT_EQ(log.state.queues().version(), 1U);
  const QueueBook before = log.state.queues();
  for (const std::uint64_t expected : {0U, 2U}) {
    const ApplyResult late = log.apply(entry::SetQueues{expected, {}, {}, person("op")});
    EXPECT_EQ(late.rejected_as, ErrorCode::kConflict);
    EXPECT_EQ(late.rejected, "somebody else changed the queues meanwhile: now version 1");
    EXPECT_FALSE(late.queues_changed);
  }
  std::vector<QueueNode> odd = some_nodes();
  odd[0].weight = 0;
  EXPECT_EQ(set(odd).rejected_as, ErrorCode::kInvalid);
  EXPECT_EQ(log.state.queues(), before);
  EXPECT_EQ(set({}).rejected, "");
  EXPECT_EQ(log.state.queues().version(), 2U);
}

TEST_F(QueueRulesTest, OperatorsAloneSetQueuesAndTheAuditSaysSo) {
  EXPECT_EQ(set(some_nodes(), {}, "bob").rejected_as, ErrorCode::kDenied);
  EXPECT_FALSE(log.state.queues().is_set());
  EXPECT_EQ(set(some_nodes()).rejected, "");
  const auto& lines = log.state.audit().lines();
  EXPECT_EQ(lines.back().verb, "set_queues");
  EXPECT_EQ(lines.back().object, "5 queues");
  EXPECT_EQ(lines.back().user, "op");
  EXPECT_EQ(lines[lines.size() - 2].outcome, AuditOutcome::kDenied);
}

TEST_F(QueueRulesTest, JobsAreNotLeftWithoutAQueue) {
  ASSERT_EQ(set(some_nodes()).rejected, "");
  const JobId waits = submit("eve", "research/cv");
  const JobId runs = submit("bob");
  const Member member = member_of(1, 0, 1);
  const Token token = log.run(runs, {member});
  EXPECT_EQ(held("research"), 1000U);
  EXPECT_EQ(held_by("research/nlp", "bob"), 1000U);
  const QueueBook before = log.state.queues();
  const ApplyResult left = set(nodes_at({"serving"}));
  EXPECT_EQ(left.rejected_as, ErrorCode::kInvalid);
  EXPECT_NE(left.rejected.find("2 jobs are in queues where the new tree has no place for jobs: "
                               "research/cv, research/nlp"),
            std::string::npos)
      << left.rejected;
  EXPECT_NE(left.rejected.find("--move-to"), std::string::npos);
  EXPECT_EQ(set(nodes_at({"research/cv/deep", "research/nlp"})).rejected_as, ErrorCode::kInvalid)
      << "no leaf any more";
  EXPECT_EQ(log.state.queues(), before);
  log.finish(token, member, 0);
  log.apply(entry::Cancel{waits, person("eve")});
  EXPECT_EQ(set(nodes_at({"serving"})).rejected, "");
  EXPECT_EQ(spec(runs).queue, "research/nlp") << "an ended job keeps what it had";
}

TEST_F(QueueRulesTest, AMoveTakesJobsAttemptsAndWhatTheyHoldAlong) {
  ASSERT_EQ(set(some_nodes()).rejected, "");
  const JobId waits = submit("eve", "research/cv");
  const JobId stays = submit("ann");
  const JobId runs = submit("bob");
  const Token token = log.run(runs, {member_of(1, 0, 1)});
  const ApplyResult moved = set(nodes_at({"lab/a", "lab/b", "serving"}),
                                {{"research", "lab/a"}, {"research/nlp", "lab/b"}});
  ASSERT_EQ(moved.rejected, "");
  EXPECT_EQ(moved.jobs_moved, (std::vector<JobId>{waits, runs}));
  EXPECT_EQ(spec(waits).queue, "lab/a") << "by the move of its parent";
  EXPECT_EQ(spec(runs).queue, "lab/b") << "by its own";
  EXPECT_EQ(spec(stays).queue, "serving");
  EXPECT_EQ(log.state.attempt(token)->share, (AttemptShare{"lab/b", "bob", kPool}));
  EXPECT_EQ(held("lab"), 1000U);
  EXPECT_EQ(held("lab/a"), 0U);
  EXPECT_EQ(held_by("lab/b", "bob"), 1000U);
  // A leaf gets queues below it: its jobs have to move there.
  EXPECT_EQ(set(nodes_at({"lab/a", "lab/b/c", "serving"}), {{"lab/b", "lab/b/c"}}).rejected, "");
  EXPECT_EQ(spec(runs).queue, "lab/b/c");
  EXPECT_EQ(held("lab/b"), 1000U);
  log.finish(token, member_of(1, 0, 1), 0);
  EXPECT_EQ(held("lab"), 0U);
}

TEST_F(QueueRulesTest, WhatRanBeforeQueuesWereSetCountsInDefault) {
  const Token token = log.run(submit("ann"), {member_of(2, 0, 1)});
  ASSERT_EQ(set(some_nodes()).rejected, "");
  EXPECT_EQ(held("default"), 1000U);
  EXPECT_EQ(log.state.attempt(token)->share.user, "ann");
  EXPECT_EQ(held_by("default", "ann"), 1000U);
  EXPECT_EQ(held("serving"), 0U);
}

TEST_F(QueueRulesTest, WhatAMoveMayNotBe) {
  ASSERT_EQ(set(some_nodes()).rejected, "");
  struct Row {
    const char* name;
    std::vector<QueueMove> moves;
    ErrorCode code;
    const char* why;
  };
  const Row rows[] = {
      {"unknown", {{"reserch", "lab"}}, ErrorCode::kNotFound, "the nearest one is research"},
      {"to nowhere", {{"research", "labs"}}, ErrorCode::kInvalid, "jobs cannot move to labs"},
      {"to a parent", {{"research", "top"}}, ErrorCode::kInvalid, "jobs cannot move to top"},
      {"from what stays", {{"short", "lab"}}, ErrorCode::kInvalid, "its jobs stay there"},
      {"twice", {{"research", "lab"}, {"research", "top/a"}}, ErrorCode::kInvalid, "moved twice"},
      {"odd", {{"research\n", "lab"}}, ErrorCode::kInvalid, "not a valid path"},
  };
  for (const Row& row : rows) {
    const ApplyResult result = set(nodes_at({"lab", "short", "top/a"}), row.moves);
    EXPECT_EQ(result.rejected_as, row.code) << row.name;
    EXPECT_NE(result.rejected.find(row.why), std::string::npos)
        << row.name << ": " << result.rejected;
  }
  EXPECT_EQ(log.state.queues().version(), 1U);
}

TEST_F(QueueRulesTest, ASnapshotHasTheTreeAndWhereJobsAre) {
  ASSERT_EQ(set(some_nodes()).rejected, "");
  const JobId id = submit("bob");
  const Token token = log.run(id, {member_of(1, 0, 1)});
  log.apply(entry::Tick{2min});
  Result<State> copy = State::decode(log.state.encode());
  ASSERT_TRUE(copy.has_value()) << copy.error().text;
  copy->check_everything();
  EXPECT_EQ(copy->encode(), log.state.encode());
  EXPECT_EQ(copy->queues(), log.state.queues());
  EXPECT_EQ(copy->shares(), log.state.shares());
  EXPECT_EQ(copy->attempt(token)->share, (AttemptShare{"research/nlp", "bob", kPool}));
}

TEST_F(QueueRulesTest, ASnapshotWithAnInvalidTreeIsRefused) {
  std::vector<QueueNode> odd = nodes_at({"b", "a"});
  gossip::Encoder out;
  write(out.array(2).u64(1), QueueTree{kHalfLifeDefault, odd});
  const auto document = gossip::Document::parse(out.take());
  ASSERT_TRUE(document.has_value());
  gossip::Reader in = document->root();
  read_queues(in);
  EXPECT_FALSE(in.ok());
}

TEST(QueueSnapshot, OneOfAnotherVersionIsRefused) {
  std::string bytes = State().encode();
  constexpr std::size_t kVersionAt = 6;  // Behind the length, the size of the head, its section.
  ASSERT_EQ(bytes[kVersionAt], 10);
  EXPECT_TRUE(State::decode(bytes).has_value());
  for (const char other : {'\11', '\13'}) {
    bytes[kVersionAt] = other;
    EXPECT_FALSE(State::decode(bytes).has_value());
  }
}

}  // namespace
}  // namespace muster::scheduler
