// muster queue, queue import, set and remove, share; queues where jobs are shown.

#include "agent/api/queues.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "agent/api/payload.h"
#include "cli/edge/queues_toml.h"
#include "tests/cli/kit/fake_world.h"
#include "tests/cli/kit/samples.h"

namespace muster::cli {
namespace {

using agent::QueueList;
using agent::ResponseStatus;
using agent::Verb;
using scheduler::QueueMove;
using scheduler::QueueNode;
using scheduler::QueueTree;

QueueTree sample_tree() {
  QueueTree tree;
  QueueNode research;
  research.path = "research";
  research.weight = 4;
  research.members = {"@nlp"};
  QueueNode nlp;
  nlp.path = "research/nlp";
  nlp.weight = 3;
  nlp.guaranteed = {{"h100", 64}};
  nlp.max = {{"h100", 256}};
  tree.nodes = {research, nlp};
  return tree;
}

QueueList sample_queues() {
  QueueList list;
  list.version = 3;
  list.tree = sample_tree();
  agent::QueueUse nlp{"research/nlp", true, {{"h100", 120'000, true}}, 12, 30, 7'200'000};
  agent::QueueUse research = nlp;
  research.path = "research";
  research.is_leaf = false;
  research.pools = {{"h100", 120'000, false}, {"no gpu", 500, false}};
  list.uses = {{"default", true}, research, nlp};
  list.fleet = {{"h100", 400}};
  return list;
}

void answer_queues(FakeWorld& world) {
  world.answers([](const agent::Request& request) -> Result<agent::Response> {
    agent::UserList users;
    users.are_logins_users = true;
    users.teams = {{"nlp", 0, 1}};
    return request.verb == Verb::kQueues  ? answer_with(sample_queues())
           : request.verb == Verb::kUsers ? answer_with(users)
                                          : agent::Response();
  });
}

std::string in_one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

/// The last order. The test fails if there was no order.
agent::SetQueuesArgs order_in(const FakeWorld& world) {
  if (world.requests().empty() || world.requests().back().verb != Verb::kSetQueues) {
    ADD_FAILURE() << "the queues were not set";
    return {};
  }
  EXPECT_EQ(world.requests().back().user, "ann");
  return agent::decode_payload<agent::SetQueuesArgs>(world.requests().back().arguments)
      .value_or(agent::SetQueuesArgs());
}

bool was_ordered(const FakeWorld& world) {
  return std::any_of(
      world.requests().begin(), world.requests().end(),
      [](const agent::Request& request) { return request.verb == Verb::kSetQueues; });
}

TEST(Queues, AreListedAsATree) {
  FakeWorld world;
  answer_queues(world);
  EXPECT_EQ(world.output_of({"queue"}),
            "QUEUE     WEIGHT  HELD                GUARANTEED  MAX       OWED  PENDING  RUN"
            "NING  LONGEST WAIT\n"
            "default        1  -                   -           -         -           0     "
            "   0             -\n"
            "research       4  120 H100, 0.5 CPUs  64 H100     -         -          12     "
            "  30            2h\n"
            "  nlp          3  120 H100            64 H100     256 H100  H100       12     "
            "  30            2h\n");
  EXPECT_EQ(world.err(), "");
}

TEST(Queues, FitTheScreenWithManyTypes) {
  FakeWorld world;
  QueueList list = sample_queues();
  list.tree.nodes[1].max = {{"a100", 1000}, {"b200", 1000}, {"h100", 1000}, {"h200", 1000}};
  list.uses[2].pools = {{"a100", 1, true}, {"b200", 1'000, true}, {"h100", 123'456, true}};
  world.answers(answer_with(list));
  const std::string text = world.output_of({"queue"});
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = text.find('\n', start);
    EXPECT_LE(end - start, 100U) << text;
    start = end + 1;
  }
  EXPECT_NE(text.find("~"), std::string::npos) << text;
}

TEST(Queues, AQueueThatIsOwedAndWaitsForLongIsMarked) {
  FakeWorld world;
  QueueList list = sample_queues();
  list.uses[2].pools[0].owed_wait_ms = 720'000;
  list.uses[2].pools[0].owed_job = JobId(17);
  world.answers(answer_with(list));
  EXPECT_NE(world.output_of({"queue"}).find("  H100 for 12m  "), std::string::npos);
  EXPECT_NE(world.output_of({"queue", "show", "research/nlp"})
                .find("owed          H100 for 12m (job 17)\n"),
            std::string::npos);
}

TEST(Queues, JobsThatWaitAreListedByQueueAndTier) {
  FakeWorld world;
  QueueList list = sample_queues();
  const agent::TierWaits premium{"premium", 2, 1, 0, 700'000, JobId(8)};
  const agent::TierWaits batch{"batch", 10, 4, 1, 7'200'000, JobId(5)};
  list.uses[1].waits = {premium, batch};
  list.uses[2].waits = {premium, batch};
  agent::QueueUse prod{"prod", true, {}, 1, 0, 5'000};
  prod.waits = {{"standard", 1, 0, 0, 5'000, JobId()}};
  list.uses.insert(list.uses.begin() + 1, prod);
  world.answers(answer_with(list));
  EXPECT_EQ(world.output_of({"queue", "--waiting"}),
            "QUEUE       TIER      WAITING  OVER 10 MIN  OVER 30 MIN  LONGEST WAIT  JOB\n"
            "prod        standard        1            0            0            5s    -\n"
            "research    all            12            5            1            2h    5\n"
            "  nlp       all            12            5            1            2h    5\n"
            "            premium         2            1            0           11m    8\n"
            "            batch          10            4            1            2h    5\n"
            "all queues  all            13            5            1            2h    5\n");
  const std::string json = world.output_of({"queue", "--waiting", "--json"});
  EXPECT_NE(json.find("\"waiting_tiers\""), std::string::npos) << json;
  EXPECT_EQ(json.find("\"default\""), std::string::npos) << "no job waits there";
}

TEST(Queues, WhereNoJobWaitsThereIsNoTable) {
  FakeWorld world;
  QueueList list;
  list.version = 1;
  list.uses = {{"default", true, {}, 0, 1}};
  world.answers(answer_with(list));
  EXPECT_EQ(world.output_of({"queue", "--waiting"}), "");
  EXPECT_NE(world.err().find("no job waits"), std::string::npos);
}

TEST(Queues, OfAnOlderNodeTheTiersThatWaitAreNotKnown) {
  FakeWorld world;
  world.answers(answer_with(sample_queues()));
  const std::string text = world.output_of({"queue", "--waiting"});
  EXPECT_NE(text.find("research  all        12            -            -            2h    -\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("all queues"), std::string::npos);
  EXPECT_NE(in_one_line(world.err()).find("does not tell the tiers"), std::string::npos);
}

TEST(Queues, BeforeAnybodySetSomeTheListSaysSo) {
  FakeWorld world;
  QueueList list;
  list.uses = {{"default", true, {}, 2, 1, 1'000}};
  world.answers(answer_with(list));
  EXPECT_NE(world.output_of({"queue"}).find("default"), std::string::npos);
  EXPECT_NE(in_one_line(world.err()).find("nobody has set queues"), std::string::npos);
}

TEST(Queues, OneIsShownWithTheRulesOfThoseAboveIt) {
  FakeWorld world;
  answer_queues(world);
  EXPECT_EQ(world.output_of({"queue", "show", "research/nlp"}),
            "queue         research/nlp\n"
            "weight        3\n"
            "guaranteed    64 H100\n"
            "max           256 H100\n"
            "tiers         all, standard for jobs that name none\n"
            "members       @nlp (of research)\n"
            "users         fair: equal parts\n"
            "longest limit any, but each job has one\n"
            "max pending   -\n"
            "held          120 H100\n"
            "owed          H100\n"
            "pending       12, the longest for 2h\n"
            "running       30\n");
  FakeWorld parent;
  answer_queues(parent);
  const std::string text = parent.output_of({"queue", "show", "research"});
  EXPECT_NE(text.find("guaranteed    64 H100\n"), std::string::npos) << text;
  EXPECT_NE(text.find("below it      research/nlp\n"), std::string::npos) << text;
  EXPECT_EQ(parent.run({"queue", "show", "reserach"}), 6);
  EXPECT_NE(parent.err().find("did you mean research?"), std::string::npos) << parent.err();
}

TEST(Queues, JsonHasTheQueuesThatWereAskedFor) {
  FakeWorld world;
  answer_queues(world);
  const std::string all = world.output_of({"queue", "--json"});
  EXPECT_NE(all.find(R"("queue":"default")"), std::string::npos) << all;
  EXPECT_NE(all.find(R"("queues_version":3)"), std::string::npos) << all;
  FakeWorld one;
  answer_queues(one);
  const std::string text = one.output_of({"queue", "show", "research/nlp", "--json"});
  EXPECT_NE(text.find(R"("queue":"research/nlp")"), std::string::npos) << text;
  EXPECT_EQ(text.find(R"("queue":"default")"), std::string::npos) << text;
}

TEST(Queues, AnExportIsAFileForImport) {
  FakeWorld world;
  answer_queues(world);
  const std::string text = world.output_of({"queue", "export"});
  EXPECT_EQ(text,
            "half-life = \"7d\"\n\n"
            "[queue.\"research\"]\nweight = 4\nmembers = [\"@nlp\"]\n\n"
            "[queue.\"research/nlp\"]\nweight = 3\nguaranteed = { h100 = 64 }\n"
            "max = { h100 = 256 }\n");
  world.written["f.toml"] = text;
  EXPECT_EQ(world.run({"queue", "import", "f.toml"}), 0);
  EXPECT_FALSE(was_ordered(world));
  EXPECT_NE(world.err().find("nothing changes"), std::string::npos) << world.err();
}

TEST(QueueImport, SendsTheTreeWithTheVersionThatItRead) {
  FakeWorld world;
  answer_queues(world);
  world.written["f.toml"] =
      "[queue.research]\nweight = 4\nmembers = [\"@nlp\"]\n[queue.prod]\n"
      "guaranteed = { h100 = 500 }\n";
  EXPECT_EQ(world.output_of({"queue", "import", "f.toml", "--move-to", "research/nlp=research"}),
            "queue prod: added; guaranteed 500 H100\n"
            "queue research/nlp: removed\n"
            "jobs of queue research/nlp: moved to research\n");
  const agent::SetQueuesArgs sent = order_in(world);
  EXPECT_EQ(sent.expected, 3U);
  EXPECT_EQ(sent.tree, *parse_queues_file(world.written["f.toml"], "f.toml"));
  EXPECT_EQ(sent.moves, (std::vector<QueueMove>{{"research/nlp", "research"}}));
  EXPECT_NE(world.err().find("warning: 500 H100 are guaranteed, and the fleet has 400"),
            std::string::npos)
      << world.err();
  EXPECT_TRUE(world.requests().front().consistent) << "an order is made from the newest tree";
}

TEST(QueueImport, ADryRunOnlyLooks) {
  FakeWorld world;
  answer_queues(world);
  world.written["f.toml"] = "";
  EXPECT_EQ(world.output_of({"queue", "import", "f.toml", "--dry-run"}),
            "queue research: removed\nqueue research/nlp: removed\n");
  EXPECT_FALSE(was_ordered(world));
  EXPECT_NE(world.err().find("warning: the tree names no queue"), std::string::npos);
  EXPECT_NE(world.err().find("leave out --dry-run"), std::string::npos);
  FakeWorld json;
  answer_queues(json);
  json.written = world.written;
  EXPECT_EQ(json.output_of({"queue", "import", "f.toml", "--dry-run", "--json"}),
            R"({"changes":["queue research: removed","queue research/nlp: removed"],)"
            R"("is_made":false})"
            "\n");
}

TEST(QueueImport, TheFirstTreeIsSetEvenIfItIsEmpty) {
  FakeWorld world;
  world.answers([](const agent::Request& request) -> Result<agent::Response> {
    return request.verb == Verb::kQueues  ? answer_with(QueueList())
           : request.verb == Verb::kUsers ? answer_with(agent::UserList())
                                          : agent::Response();
  });
  world.written["f.toml"] = "";
  EXPECT_EQ(world.run({"queue", "import", "f.toml"}), 0);
  EXPECT_EQ(order_in(world).expected, 0U);
  EXPECT_NE(world.err().find("these are the first queues"), std::string::npos) << world.err();
}

TEST(QueueImport, WhatCannotBeMeantIsRefusedBeforeANodeIsAsked) {
  FakeWorld world;
  world.written["bad.toml"] = "[queue.a]\nwieght = 1\n";
  EXPECT_EQ(world.run({"queue", "import", "bad.toml"}), 2);
  EXPECT_NE(world.err().find("bad.toml:2: unknown key 'wieght'"), std::string::npos) << world.err();
  EXPECT_EQ(world.run({"queue", "import", "none.toml"}), 6);
  EXPECT_EQ(world.run({"queue", "import", "bad.toml", "--move-to", "a"}), 2);
  EXPECT_EQ(world.run({"queue", "import", "bad.toml", "--move-to", "a=b//c"}), 2);
  EXPECT_TRUE(world.requests().empty());
}

TEST(QueueSet, ChangesOneQueueAndLeavesTheOthers) {
  FakeWorld world;
  answer_queues(world);
  EXPECT_EQ(world.output_of({"queue", "set", "research/nlp", "weight=5",
                             "max.h100=", "guaranteed.h100=128", "time-limit-max=none"}),
            "queue research/nlp: weight 5 (was 3); guaranteed 128 H100 (was 64 H100); max none "
            "(was 256 H100); time-limit-max none (was that of its parent)\n");
  QueueTree wanted = sample_tree();
  wanted.nodes[1].weight = 5;
  wanted.nodes[1].max.clear();
  wanted.nodes[1].guaranteed["h100"] = 128;
  wanted.nodes[1].time_limit_max = scheduler::kNoTimeLimit;
  EXPECT_EQ(order_in(world).tree, wanted);
  EXPECT_EQ(order_in(world).expected, 3U);
}

TEST(QueueSet, CreatesAQueueAndSaysSo) {
  FakeWorld world;
  answer_queues(world);
  EXPECT_EQ(world.output_of({"queue", "set", "prod", "tiers=inference,premium"}),
            "queue prod: added; tiers inference, premium\n");
  EXPECT_EQ(order_in(world).tree.nodes.size(), 3U);
  EXPECT_EQ(order_in(world).tree.nodes[0].path, "prod");
  FakeWorld split;
  answer_queues(split);
  EXPECT_EQ(split.output_of(
                {"queue", "set", "research/nlp/a", "--move-to", "research/nlp=research/nlp/a"}),
            "queue research/nlp/a: added\n"
            "jobs of queue research/nlp: moved to research/nlp/a\n");
}

TEST(QueueSet, SetsTheHalfLife) {
  FakeWorld world;
  answer_queues(world);
  EXPECT_EQ(world.output_of({"queue", "set", "--half-life", "3d"}), "half-life 3d (was 7d)\n");
  EXPECT_EQ(order_in(world).tree.half_life, std::chrono::hours(72));
  FakeWorld same;
  answer_queues(same);
  EXPECT_EQ(same.run({"queue", "set", "--half-life", "7d"}), 0);
  EXPECT_FALSE(was_ordered(same));
}

TEST(QueueSet, WhatCannotBeMeantIsRefused) {
  FakeWorld world;
  EXPECT_EQ(world.run({"queue", "set"}), 2);
  EXPECT_EQ(world.run({"queue", "set", "weight=4"}), 2) << "there is no path";
  EXPECT_EQ(world.run({"queue", "set", "a", "weight=0"}), 2);
  EXPECT_EQ(world.run({"queue", "set", "a", "wieght=4"}), 2);
  EXPECT_EQ(world.run({"queue", "set", "--half-life", "1m"}), 2);
  EXPECT_TRUE(world.requests().empty());
  answer_queues(world);
  EXPECT_EQ(world.run({"queue", "set", "research"}), 2) << "it is there, and no key is given";
  EXPECT_EQ(world.run({"queue", "set", "research/nlp", "guaranteed.h100=512"}), 2)
      << "above its own max";
  EXPECT_FALSE(was_ordered(world));
}

TEST(QueueRemove, AsksFirstAndMovesTheJobs) {
  FakeWorld world;
  answer_queues(world);
  EXPECT_EQ(world.run({"queue", "remove", "research"}), 2) << "there is no terminal to ask at";
  EXPECT_NE(world.err().find("queue research was not removed"), std::string::npos) << world.err();
  EXPECT_FALSE(was_ordered(world));
  FakeWorld person;
  answer_queues(person);
  std::string asked;
  person.world().terminal.ask = [&asked](const std::string& question) {
    asked = question;
    return std::optional<std::string>("yes");
  };
  EXPECT_EQ(person.output_of({"queue", "remove", "research", "--move-to", "default"}),
            "queue research: removed\nqueue research/nlp: removed\n"
            "jobs of queue research: moved to default\n");
  EXPECT_NE(in_one_line(asked).find("queue research and 1 below it will be removed; 12 jobs wait"),
            std::string::npos)
      << asked;
  EXPECT_TRUE(order_in(person).tree.nodes.empty());
  EXPECT_EQ(order_in(person).moves, (std::vector<QueueMove>{{"research", "default"}}));
}

TEST(QueueRemove, NamesAQueueThatIsThere) {
  FakeWorld world;
  answer_queues(world);
  EXPECT_EQ(world.run({"queue", "remove", "nlp", "--yes"}), 6);
  EXPECT_NE(world.err().find("did you mean research/nlp?"), std::string::npos) << world.err();
  EXPECT_EQ(world.run({"queue", "remove", "default", "--yes"}), 2);
  EXPECT_EQ(world.run({"queue", "remove", "research", "--yes", "--move-to", "research/nlp"}), 6)
      << "it goes, too";
  EXPECT_FALSE(was_ordered(world));
  EXPECT_EQ(world.run({"queue", "remove", "research/nlp", "--yes"}), 0);
  EXPECT_EQ(order_in(world).tree.nodes.size(), 1U);
}

TEST(QueueOrders, AConflictSaysToRepeat) {
  FakeWorld world;
  world.answers([](const agent::Request& request) -> Result<agent::Response> {
    return request.verb == Verb::kQueues ? answer_with(sample_queues())
                                         : refusal(ResponseStatus::kConflict,
                                                   "somebody else changed the queues meanwhile: "
                                                   "now version 4");
  });
  EXPECT_EQ(world.run({"queue", "set", "research", "weight=5"}), 7);
  EXPECT_NE(in_one_line(world.err()).find("repeat the command"), std::string::npos) << world.err();
}

TEST(QueueOrders, ATryWhoseAnswerWasLostMayHaveDoneIt) {
  QueueList done = sample_queues();
  done.version = 4;
  done.tree.nodes[0].weight = 5;
  const agent::Response conflict = refusal(ResponseStatus::kConflict, "now version 4");
  FakeWorld world;
  world.answers_in_turn({answer_with(sample_queues()), silence(), conflict, answer_with(done)});
  EXPECT_EQ(world.output_of({"queue", "set", "research", "weight=5"}),
            "queue research: weight 5 (was 4)\n");
  FakeWorld other;
  done.tree.nodes[0].weight = 6;
  other.answers_in_turn({answer_with(sample_queues()), silence(), conflict, answer_with(done)});
  EXPECT_EQ(other.run({"queue", "set", "research", "weight=5"}), 7);
}

agent::ShareList sample_shares() {
  agent::ShareInfo gpus;
  gpus.path = "research/nlp";
  gpus.pool = "h100";
  gpus.pool_name = "H100";
  gpus.held = 120'000;
  gpus.pool_held = 400'000;
  gpus.pool_size = 400;
  gpus.part = 160'000;
  gpus.weight = 4;
  gpus.weights = 10;
  gpus.mean_permille = 280;
  gpus.credit_permille = 1'200;
  gpus.pending = 12;
  gpus.is_owed = true;
  gpus.is_next = true;
  gpus.borrowed = 20'000;
  agent::ShareInfo user = gpus;
  user.user = "anna";
  user.weight = 1;
  user.is_owed = false;
  agent::ShareInfo cpus;
  cpus.path = "research/nlp";
  cpus.pool = "no gpu";
  cpus.pool_name = "CPUs";
  cpus.held = 500;
  cpus.borrowed = 500;
  cpus.pool_size = 96;
  cpus.part = 96'000;
  cpus.mean_permille = 1'000;
  cpus.at_max = "research";
  return {7 * 86'400'000ULL, {gpus, user, cpus}};
}

TEST(Shares, AreALineForEachQueueAndPool) {
  FakeWorld world;
  world.answers(answer_with(sample_shares()));
  EXPECT_EQ(world.output_of({"share"}),
            "QUEUE         TYPE  HELD  BORROWED   OF  PART   WEIGHT  OVER 7d  CREDIT  PENDING  "
            "NEXT\n"
            "research/nlp  H100   120        20  400   160  4 of 10   28.0 %    1.20       12  "
            "next, owed\n"
            "research/nlp  CPUs   0.5       0.5   96    96   1 of 1  100.0 %    1.00        0  "
            "max of research\n");
  EXPECT_EQ(world.requests()[0].arguments, "");
}

TEST(Shares, NobodySeesWhatIsBorrowedWhereNothingIsGuaranteed) {
  agent::ShareList list = sample_shares();
  list.shares[0].borrowed = list.shares[0].held;
  FakeWorld world;
  world.answers(answer_with(list));
  EXPECT_EQ(world.output_of({"share"}).find("BORROWED"), std::string::npos);
}

TEST(Shares, OfOneQueueWithItsUsers) {
  FakeWorld world;
  world.answers(answer_with(sample_shares()));
  const std::string text = world.output_of({"share", "research", "--users"});
  EXPECT_NE(text.find("USER"), std::string::npos) << text;
  EXPECT_NE(text.find("research/nlp  anna  H100   120         -  400"), std::string::npos) << text;
  EXPECT_EQ(agent::decode_payload<agent::SharesQuery>(world.requests()[0].arguments)->path,
            "research");
  FakeWorld json;
  json.answers(answer_with(sample_shares()));
  const std::string plain = json.output_of({"share", "--json"});
  EXPECT_NE(plain.find(R"("queue":"research/nlp")"), std::string::npos) << plain;
  EXPECT_EQ(plain.find("anna"), std::string::npos) << plain;
}

TEST(QueuesOfJobs, AreAColumnOnceThereAreSeveral) {
  agent::JobList jobs;
  jobs.jobs = {sample_job(1, "running"), sample_job(2, "queued")};
  jobs.jobs[0].queue = "default";
  FakeWorld plain;
  plain.answers(answer_with(jobs));
  EXPECT_EQ(plain.output_of({"jobs"}).find("QUEUE"), std::string::npos);
  jobs.jobs[1].queue = "research/nlp";
  jobs.jobs[1].tier = "batch";
  FakeWorld world;
  world.answers(answer_with(jobs));
  const std::string text = world.output_of({"jobs"});
  EXPECT_NE(text.find("USER  QUEUE"), std::string::npos) << text;
  EXPECT_NE(text.find("research/nlp"), std::string::npos) << text;
  FakeWorld chosen;
  chosen.answers(answer_with(jobs));
  EXPECT_EQ(chosen.output_of({"jobs", "-o", "id,queue,tier", "--no-header"}),
            " 1  default       -\n 2  research/nlp  batch\n");
}

TEST(QueuesOfJobs, AreShown) {
  agent::JobDetail detail = sample_detail();
  FakeWorld old;
  old.answers(answer_with(detail));
  EXPECT_EQ(old.output_of({"show", "17"}).find("queue      "), std::string::npos);
  detail.summary.queue = "research/nlp";
  detail.summary.tier = "batch";
  FakeWorld world;
  world.answers(answer_with(detail));
  const std::string text = world.output_of({"show", "17"});
  EXPECT_NE(text.find("queue      research/nlp\ntier       batch\n"), std::string::npos) << text;
}

TEST(QueuesOfJobs, WhyNamesTheMaxAndTheOthers) {
  agent::WhyInfo why = sample_why();
  why.queue = "research/nlp";
  why.tier = "batch";
  why.full_queue = "research";
  why.full_text = "64 GPUs of type H100";
  why.others_wait = true;
  FakeWorld world;
  world.answers(answer_with(why));
  const std::string text = world.output_of({"why", "18"});
  EXPECT_NE(
      text.find("queue    research/nlp, tier batch\n"
                "full     queue research may hold at most 64 GPUs of type H100: some of its "
                "jobs have to end first\n"
                "others   jobs of other queues, or of other users of its queue, may go first: "
                "see `muster share`\n"),
      std::string::npos)
      << text;
  why.turn.pool = "h100";
  why.turn.rule = "share";
  why.turn.text = "prod is next in H100: it holds 1 for weight 1, research/nlp 4 for weight 2";
  why.turn.next_with = "tier premium";
  FakeWorld told;
  told.answers(answer_with(why));
  const std::string turn = told.output_of({"why", "18"});
  EXPECT_NE(turn.find("next     prod is next in H100: it holds 1 for weight 1, research/nlp 4 "),
            std::string::npos)
      << turn;
  EXPECT_NE(turn.find("sooner   with tier premium it would be the next one: `muster edit`\n"),
            std::string::npos)
      << turn;
  EXPECT_EQ(turn.find("others   "), std::string::npos) << turn;
  why.turn = agent::WhyTurn();
  why.queue = "default";
  why.full_queue.clear();
  why.others_wait = false;
  FakeWorld plain;
  plain.answers(answer_with(why));
  EXPECT_EQ(plain.output_of({"why", "18"}).find("queue    "), std::string::npos);
}

scheduler::JobSpec spec_of(const std::vector<std::string>& options) {
  FakeWorld world;
  world.answers(answer_with(agent::JobRef{JobId(17)}));
  std::vector<std::string> args = {"submit"};
  args.insert(args.end(), options.begin(), options.end());
  args.insert(args.end(), {"--", "x"});
  world.output_of(args);
  return agent::decode_payload<agent::SubmitArgs>(world.requests().at(0).arguments)
      .value_or(agent::SubmitArgs())
      .spec;
}

TEST(QueuesOfJobs, AreNamedBySubmit) {
  const scheduler::JobSpec spec =
      spec_of({"--queue", "research/nlp", "--tier", "inference", "--time-limit", "none"});
  EXPECT_EQ(spec.queue, "research/nlp");
  EXPECT_EQ(spec.tier, scheduler::Tier::kInference);
  EXPECT_EQ(spec.limits.time_limit, scheduler::kNoTimeLimit);
  const scheduler::JobSpec plain = spec_of({});
  EXPECT_EQ(plain.queue, "");
  EXPECT_EQ(plain.tier, scheduler::Tier::kNone);
  EXPECT_EQ(plain.limits.time_limit, Duration(0));
  const std::pair<std::vector<std::string>, const char*> wrong[] = {
      {{"submit", "--queue", "a//b", "--", "x"}, "not a valid path of a queue"},
      {{"submit", "--tier", "gold", "--", "x"}, "'gold' is not a tier"},
      {{"submit", "--time-limit", "never", "--", "x"}, "or none"},
      {{"submit", "--qos", "high", "--", "x"}, "write --tier TIER"},
  };
  for (const auto& [args, why] : wrong) {
    FakeWorld world;
    EXPECT_EQ(world.run(args), 2) << why;
    EXPECT_NE(world.err().find(why), std::string::npos) << world.err();
  }
}

}  // namespace
}  // namespace muster::cli
