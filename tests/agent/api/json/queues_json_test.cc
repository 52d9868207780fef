// The documents of queues and shares.

#include "agent/api/json/queues.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "agent/api/json/view.h"

namespace muster::agent {
namespace {

using Document = nlohmann::json;

QueueList sample_queues() {
  QueueList list;
  list.version = 4;
  list.tree.half_life = std::chrono::hours(1);
  scheduler::QueueNode node;
  node.path = "research/nlp";
  node.weight = 3;
  node.guaranteed = {{"h100", 8}};
  node.max = {{"cpus", 100}, {"gpus", 16}};
  node.tiers = {scheduler::Tier::kBatch, scheduler::Tier::kPremium};
  node.members = {"@nlp", "ann"};
  node.time_limit_max = std::chrono::hours(2);
  node.max_pending = 1000;
  list.tree.nodes = {node};
  list.uses = {{"research", false}, {"research/nlp", true, {{"h100", 4000, true}}, 5, 2, 60'000}};
  list.fleet = {{"h100", 64}};
  return list;
}

Response answer() {
  Response response;
  response.answered_by = "a";
  return response;
}

TEST(QueuesJson, AQueueSaysWhatItIsAndWhatItHolds) {
  const Document json = Document::parse(to_json(sample_queues(), answer()));
  EXPECT_EQ(json["queues_version"], 4);
  EXPECT_EQ(json["half_life_ms"], 3'600'000);
  EXPECT_EQ(json["answered_by"], "a");
  ASSERT_EQ(json["fleet"].size(), 1U);
  EXPECT_EQ(json["fleet"][0]["amount_of"], "h100");
  EXPECT_EQ(json["fleet"][0]["amount"], 64);
  ASSERT_EQ(json["queues"].size(), 2U);
  const Document& parent = json["queues"][0];
  EXPECT_EQ(parent["queue"], "research");
  EXPECT_EQ(parent["is_leaf"], false);
  EXPECT_EQ(parent["weight"], 1) << "the tree leaves it out";
  EXPECT_TRUE(parent["max"].empty());
  EXPECT_TRUE(parent["longest_wait_ms"].is_null());
  EXPECT_TRUE(parent["time_limit_max_ms"].is_null());
  EXPECT_TRUE(parent["max_pending"].is_null());
  const Document& leaf = json["queues"][1];
  EXPECT_EQ(leaf["weight"], 3);
  EXPECT_EQ(leaf["guaranteed"][0]["amount"], 8);
  EXPECT_EQ(leaf["max"][1]["amount_of"], "gpus");
  EXPECT_EQ(leaf["tiers"], (Document{"batch", "premium"}));
  EXPECT_EQ(leaf["queue_members"], (Document{"@nlp", "ann"}));
  EXPECT_EQ(leaf["is_fifo"], false);
  EXPECT_EQ(leaf["time_limit_max_ms"], 7'200'000);
  EXPECT_EQ(leaf["allows_no_time_limit"], false);
  EXPECT_EQ(leaf["max_pending"], 1000);
  EXPECT_EQ(leaf["pools"][0]["held_thousandths"], 4000);
  EXPECT_EQ(leaf["pools"][0]["is_owed"], true);
  EXPECT_EQ(leaf["pending"], 5);
  EXPECT_EQ(leaf["running"], 2);
  EXPECT_EQ(leaf["longest_wait_ms"], 60'000);
}

TEST(QueuesJson, APoolNamesTheJobThatWaitsThoughTheQueueIsOwed) {
  QueueList list = sample_queues();
  Document pool = Document::parse(to_json(list, answer()))["queues"][1]["pools"][0];
  EXPECT_TRUE(pool["owed_wait_ms"].is_null());
  EXPECT_TRUE(pool["owed_job_id"].is_null());
  list.uses[1].pools[0].owed_wait_ms = 720'000;
  list.uses[1].pools[0].owed_job = task_id(JobId(7), 12);
  pool = Document::parse(to_json(list, answer()))["queues"][1]["pools"][0];
  EXPECT_EQ(pool["owed_wait_ms"], 720'000);
  EXPECT_EQ(pool["owed_job_id"], "7.12");
}

TEST(QueuesJson, JobsThatWaitAreSummedUpByQueueAndTier) {
  QueueList list = sample_queues();
  list.uses[1].waits = {{"premium", 2, 1, 0, 700'000, JobId(8)},
                        {"batch", 3, 3, 1, 1'900'000, JobId()}};
  const Document json = Document::parse(waiting_json(list, answer()));
  EXPECT_EQ(json["queues_version"], 4);
  ASSERT_EQ(json["queues"].size(), 1U) << "no job waits in research";
  const Document& nlp = json["queues"][0];
  EXPECT_EQ(nlp["queue"], "research/nlp");
  EXPECT_EQ(nlp["is_leaf"], true);
  EXPECT_EQ(nlp["pending"], 5);
  EXPECT_EQ(nlp["over_10_min"], 4);
  EXPECT_EQ(nlp["over_30_min"], 1);
  EXPECT_EQ(nlp["longest_wait_ms"], 1'900'000);
  EXPECT_TRUE(nlp["longest_job_id"].is_null()) << "hidden";
  EXPECT_FALSE(nlp.contains("tier"));
  ASSERT_EQ(nlp["waiting_tiers"].size(), 2U);
  EXPECT_EQ(nlp["waiting_tiers"][0]["tier"], "premium");
  EXPECT_EQ(nlp["waiting_tiers"][0]["pending"], 2);
  EXPECT_EQ(nlp["waiting_tiers"][0]["longest_job_id"], 8);
}

TEST(QueuesJson, AnOlderNodeTellsNoTiers) {
  const Document nlp = Document::parse(waiting_json(sample_queues(), answer()))["queues"][0];
  EXPECT_EQ(nlp["pending"], 5);
  EXPECT_TRUE(nlp["over_10_min"].is_null());
  EXPECT_TRUE(nlp["waiting_tiers"].is_null());
  EXPECT_EQ(nlp["longest_wait_ms"], 60'000);
}

TEST(QueuesJson, NoLimitIsSaid) {
  QueueList list = sample_queues();
  list.tree.nodes[0].time_limit_max = scheduler::kNoTimeLimit;
  const Document leaf = Document::parse(to_json(list, answer()))["queues"][1];
  EXPECT_TRUE(leaf["time_limit_max_ms"].is_null());
  EXPECT_EQ(leaf["allows_no_time_limit"], true);
}

TEST(QueuesJson, BeforeAnybodySetQueuesTheyAreOneLine) {
  QueueList list;
  list.uses = {{"default", true}};
  const Document json = Document::parse(to_json(list, answer()));
  EXPECT_TRUE(json["queues_version"].is_null());
  EXPECT_EQ(json["queues"][0]["is_fifo"], true);
}

TEST(QueuesJson, AShareOfAQueueHasNoUser) {
  ShareInfo share;
  share.path = "research";
  share.pool = "h100";
  share.pool_name = "H100";
  share.held = 2500;
  share.pool_held = 6000;
  share.pool_size = 8;
  share.part = 4000;
  share.weight = 2;
  share.weights = 4;
  share.mean_permille = 250;
  share.credit_permille = 1500;
  share.pending = 3;
  share.is_next = true;
  share.borrowed = 500;
  ShareInfo of_user = share;
  of_user.user = "ann";
  of_user.at_max = "research";
  const Document json = Document::parse(to_json(ShareList{3'600'000, {share, of_user}}, answer()));
  EXPECT_EQ(json["half_life_ms"], 3'600'000);
  const Document& row = json["shares"][0];
  EXPECT_TRUE(row["user"].is_null());
  EXPECT_TRUE(row["at_max"].is_null());
  EXPECT_EQ(row["queue"], "research");
  EXPECT_EQ(row["pool_name"], "H100");
  EXPECT_EQ(row["held_thousandths"], 2500);
  EXPECT_EQ(row["pool_held_thousandths"], 6000);
  EXPECT_EQ(row["part_thousandths"], 4000);
  EXPECT_EQ(row["weights"], 4);
  EXPECT_EQ(row["credit_permille"], 1500);
  EXPECT_EQ(row["is_next"], true);
  EXPECT_EQ(row["is_owed"], false);
  EXPECT_EQ(row["borrowed_thousandths"], 500);
  EXPECT_EQ(json["shares"][1]["user"], "ann");
  EXPECT_TRUE(json["shares"][1]["borrowed_thousandths"].is_null());
  EXPECT_EQ(json["shares"][1]["at_max"], "research");
}

TEST(QueuesJson, AJobHasAQueueAndATierOrNull) {
  JobSummary job;
  job.queue = "research";
  job.tier = "batch";
  const Document json = Document::parse(to_json(JobList{{job, JobSummary()}, {}}, 0, answer()));
  EXPECT_EQ(json["jobs"][0]["queue"], "research");
  EXPECT_EQ(json["jobs"][0]["tier"], "batch");
  EXPECT_TRUE(json["jobs"][1]["queue"].is_null());
  EXPECT_TRUE(json["jobs"][1]["tier"].is_null());
}

TEST(QueuesJson, AReasonNamesTheQueueThatIsFull) {
  WhyInfo why;
  why.queue = "research/nlp";
  why.full_queue = "research";
  why.full_text = "64 GPUs";
  why.others_wait = 7;
  const Document json = Document::parse(to_json(why, answer()));
  EXPECT_EQ(json["queue"], "research/nlp");
  EXPECT_TRUE(json["tier"].is_null());
  EXPECT_EQ(json["full_queue"], "research");
  EXPECT_EQ(json["full_text"], "64 GPUs");
  EXPECT_EQ(json["others_wait"], 7);
  EXPECT_TRUE(json["turn"].is_null());
  why.turn = {
      "h100", JobId(3), "max", "queue research has no room", "", {"research", false, 4000, 2, 1000},
      {}};
  const Document told = Document::parse(to_json(why, answer()))["turn"];
  EXPECT_EQ(told["first_job"], 3);
  EXPECT_EQ(told["rule"], "max");
  EXPECT_EQ(told["own_side"]["held_thousandths"], 4000);
  EXPECT_TRUE(told["other_side"].is_null());
  EXPECT_TRUE(told["next_with"].is_null());
}

TEST(QueuesJson, ChangesThatWereOnlyListedAreNotMade) {
  const Document json = Document::parse(queues_changed_json({"queue prod is new"}, false));
  EXPECT_EQ(json["changes"][0], "queue prod is new");
  EXPECT_EQ(json["is_made"], false);
}

}  // namespace
}  // namespace muster::agent
