// Calls of REST about jobs: what each route asks the node, and what it answers.

#include <gtest/gtest.h>

#include "agent/api/json/orders.h"
#include "agent/api/json/view.h"
#include "agent/api/rest/call.h"
#include "agent/api/rest/submit_body.h"
#include "agent/api/users.h"
#include "tests/agent/api/rest/call_testing.h"

namespace muster::agent {
namespace {

using rest_testing::bad;
using rest_testing::CallNode;
using rest_testing::field;
using rest_testing::get;
using rest_testing::good;
using rest_testing::good_with;
using rest_testing::send;

JobSummary call_job(std::uint64_t id, const std::string& user, const std::string& state) {
  JobSummary summary;
  summary.id = JobId(id);
  summary.name = "job" + std::to_string(id);
  summary.user = user;
  summary.state = state;
  return summary;
}

/// Jobs 1 and 2, and on a second page job 3.
Response jobs_page(const Request& request) {
  const auto query = decode_payload<JobsQuery>(request.arguments);
  JobList list;
  if (query.has_value() && query->after < JobId(2)) {
    list.jobs = {call_job(1, "ann", "queued"), call_job(2, "bob", "queued")};
    std::erase_if(list.jobs, [&](const JobSummary& each) { return each.id <= query->after; });
    list.next = JobId(2);
  } else {
    list.jobs = {call_job(3, "bob", "running")};
  }
  return good_with(list);
}

CallNode job_node() {
  CallNode node;
  WhoamiInfo whoami;
  whoami.user = "ann";
  node.on(Verb::kWhoami, good_with(whoami)).on(Verb::kJobs, jobs_page);
  return node;
}

TEST(RestJobs, AreOnesOwnAndWhatRunsOfOthers) {
  CallNode node = job_node();
  const HttpAnswer answer = node.run(get("/v1/jobs"));
  JobList list;
  list.jobs = {call_job(1, "ann", "queued"), call_job(3, "bob", "running")};
  EXPECT_EQ(answer.body, to_json(list, 1, good()) + "\n");
}

TEST(RestJobs, AllAreListedWithoutAskingForTheUser) {
  CallNode node = job_node();
  const HttpAnswer answer = node.run(get("/v1/jobs", {{"all", "1"}, {"sort", "-id"}}));
  JobList list;
  list.jobs = {call_job(3, "bob", "running"), call_job(2, "bob", "queued"),
               call_job(1, "ann", "queued")};
  EXPECT_EQ(answer.body, to_json(list, 0, good()) + "\n");
  EXPECT_EQ(node.asked.size(), 2U);
}

TEST(RestJobs, FiltersAreThoseOfTheCli) {
  struct Row {
    HttpFields query;
    std::vector<std::uint64_t> ids;
  };
  const Row rows[] = {
      {{{"user", "bob"}}, {2, 3}},
      {{{"all", "1"}, {"name", "job[12]"}}, {}},
      {{{"all", "1"}, {"name", "job?"}}, {1, 2, 3}},
      {{{"all", "1"}, {"state", "running,failed"}}, {3}},
      {{{"job", "1-2"}}, {1, 2}},
      {{{"job", "2"}, {"job", "3"}}, {2, 3}},
      {{{"all", "1"}, {"limit", "1"}}, {3}},
      {{{"all", "1"}, {"limit", "1"}, {"sort", "id"}}, {1}},
  };
  for (const Row& row : rows) {
    CallNode node = job_node();
    const HttpAnswer answer = node.run(get("/v1/jobs", row.query));
    for (std::uint64_t id = 1; id <= 3; ++id) {
      const bool is_wanted = std::find(row.ids.begin(), row.ids.end(), id) != row.ids.end();
      const std::string text = "\"job_id\":" + std::to_string(id) + ",";
      EXPECT_EQ(answer.body.find(text) != std::string::npos, is_wanted)
          << row.query[0].first << " " << id;
    }
  }
}

TEST(RestJobs, AFilterThatIsWrongIsNamed) {
  const std::pair<std::string, std::string> rows[] = {{"state", "lost"}, {"since", "1"},
                                                      {"job", "x"},      {"sort", "size"},
                                                      {"limit", "1001"}, {"tasks", "1"}};
  for (const auto& [name, value] : rows) {
    CallNode node = job_node();
    const HttpAnswer answer = node.run(get("/v1/jobs", {{name, value}}));
    EXPECT_EQ(answer.status, 400) << name;
    EXPECT_TRUE(node.asked.empty()) << name;
  }
}

TEST(RestJobs, APageIsInTheOrderOfNumbersAndSaysWhereTheNextBegins) {
  CallNode node = job_node();
  const HttpFields query = {{"all", "1"}, {"after", "0"}, {"limit", "1"}};
  const HttpAnswer first = node.run(get("/v1/jobs", query));
  EXPECT_EQ(field(first, "muster-next"), "1");
  const HttpAnswer second = node.run(get("/v1/jobs", {{"all", "1"}, {"after", "1"}}));
  EXPECT_NE(second.body.find("\"job_id\":2,"), std::string::npos);
  EXPECT_NE(second.body.find("\"job_id\":3,"), std::string::npos);
  EXPECT_EQ(field(second, "muster-next"), "absent");
}

TEST(RestJobs, MissingOnesAreNotFound) {
  CallNode node = job_node();
  EXPECT_EQ(node.run(get("/v1/jobs", {{"job", "9"}})).status, 404);
}

TEST(RestJobs, AJobThatIsNotKnownHereIsLookedUpAtTheLeader) {
  CallNode node;
  JobDetail detail;
  detail.summary = call_job(7, "ann", "queued");
  node.on(Verb::kShow, [&](const Request& request) {
    return request.consistent ? good_with(detail) : bad(ResponseStatus::kNotFound, "no job 7");
  });
  EXPECT_EQ(node.run(get("/v1/jobs/7")).body, to_json(detail, good()) + "\n");
  node.on(Verb::kShow, [](const Request& request) {
    return request.consistent ? bad(ResponseStatus::kNoQuorum, "no leader")
                              : bad(ResponseStatus::kNotFound, "no job 7");
  });
  const HttpAnswer answer = node.run(get("/v1/jobs/7"));
  EXPECT_EQ(answer.status, 404);
  EXPECT_NE(answer.body.find("the leader could not be asked"), std::string::npos);
}

TEST(RestJobs, OrdersNameTheJob) {
  CallNode node;
  node.on(Verb::kCancel, good_with(JobRef{JobId(7)}));
  const HttpAnswer done = node.run(send(HttpMethod::kPost, "/v1/jobs/7:cancel"));
  EXPECT_EQ(done.body, to_json("cancelled", {JobOutcome{JobId(7), 0, ""}}) + "\n");
  EXPECT_FALSE(node.asked[0].consistent);
  node.on(Verb::kCancel, bad(ResponseStatus::kUnknown, "no answer"));
  const HttpAnswer open = node.run(send(HttpMethod::kPost, "/v1/jobs/7:cancel"));
  EXPECT_EQ(open.status, 504);
  EXPECT_NE(open.body.find("job 7: no answer"), std::string::npos);
}

TEST(RestJobs, ARunOfTasksIsCancelledInOneOrder) {
  CallNode node;
  node.on(Verb::kCancel, good());
  node.run(send(HttpMethod::kPost, "/v1/jobs/7.2:cancel", R"({"last": "9"})"));
  const auto run = decode_payload<JobRun>(node.asked.at(0).arguments);
  EXPECT_EQ(run->job, task_id(JobId(7), 2));
  EXPECT_EQ(run->last, task_id(JobId(7), 9).value());
  EXPECT_EQ(node.run(send(HttpMethod::kPost, "/v1/jobs/7:cancel", R"({"last": "9"})")).status, 400);
}

TEST(RestJobs, ARequeueNamesTheAttemptThatMakesWay) {
  CallNode node;
  JobDetail detail;
  detail.summary.attempt = 3;
  node.on(Verb::kShow, good_with(detail)).on(Verb::kRequeue, good());
  node.run(send(HttpMethod::kPost, "/v1/jobs/7:requeue"));
  ASSERT_EQ(node.asked.size(), 2U);
  EXPECT_TRUE(node.asked[0].consistent);
  EXPECT_EQ(*decode_payload<RequeueArgs>(node.asked[1].arguments), (RequeueArgs{JobId(7), 3}));
}

TEST(RestJobs, AnEditChangesWhatItNamesAndNullTakesAway) {
  CallNode node;
  node.on(Verb::kEdit, good());
  const HttpAnswer answer = node.run(
      send(HttpMethod::kPatch, "/v1/jobs/7",
           R"({"queue": "nlp", "priority": -5, "time_limit_ms": null, "begin_in_s": 60})"));
  EditArgs wanted{JobId(7), -5, false, "nlp"};
  wanted.has_no_limit = true;
  wanted.begin_ms = 60'000;
  EXPECT_EQ(*decode_payload<EditArgs>(node.asked.at(0).arguments), wanted);
  EXPECT_EQ(answer.body, edited_json(wanted) + "\n");
  for (const char* body :
       {"{}", R"({"tier": "gold"})", R"({"time_limit_s": 1, "time_limit_ms": 1})",
        R"({"time_limit_added_ms": 1, "time_limit_ms": 1})",
        R"({"begin_in_s": 60, "deadline_in_s": 30})"}) {
    EXPECT_EQ(node.run(send(HttpMethod::kPatch, "/v1/jobs/7", body)).status, 400) << body;
  }
}

constexpr char kKey[] = "0123456789abcdef0123456789abcdef";

HttpRequest submit_request(const std::string& body) {
  HttpRequest request = send(HttpMethod::kPost, "/v1/jobs", body);
  request.fields.emplace_back("idempotency-key", kKey);
  return request;
}

TEST(RestSubmit, TheBodyIsTheJob) {
  CallNode node;
  node.on(Verb::kSubmit, good_with(JobRef{JobId(7)}));
  const HttpAnswer answer = node.run(submit_request(R"({
      "command": ["python3", "-u", "train.py"], "directory": "/home/ann",
      "environment": ["B=1", "A=2", "B=3", "RANK=9"], "gpus": 16, "gpus_per_host": 8,
      "gpu_type": "H100", "labels": ["z", "a"], "pack": "rack", "pack_wait_ms": 600000,
      "queue": "nlp", "tier": "batch", "priority": 3, "time_limit_s": 60, "retries": 2,
      "after": ["ok:5", "any:8.3"], "begin_in_s": 5, "deadline_in_s": 10, "team": "nlp",
      "on_lost_host": "wait", "array": {"first": 0, "last": 8, "step": 2, "at_once": 3}})"));
  EXPECT_EQ(answer.status, 201);
  EXPECT_EQ(answer.body, submitted_json(JobId(7), kKey) + "\n");
  const auto args = decode_payload<SubmitArgs>(node.asked.at(0).arguments);
  ASSERT_TRUE(args.has_value());
  const scheduler::JobSpec& spec = args->spec;
  EXPECT_EQ(args->key, kKey);
  EXPECT_EQ(spec.name, "train.py");
  EXPECT_EQ(spec.command.environment, (std::vector<std::string>{"A=2", "B=3"}));
  EXPECT_EQ(spec.request.labels, (std::vector<std::string>{"a", "z"}));
  EXPECT_EQ(spec.request.gpu_types, std::vector<std::string>{"H100"});
  EXPECT_EQ(spec.limits.time_limit, std::chrono::minutes(1));
  EXPECT_EQ(spec.eligibility.after.size(), 2U);
  ASSERT_TRUE(spec.array.has_value());
  EXPECT_EQ(text_of(*spec.array), "0-8:2");
  EXPECT_EQ(spec.array->at_once, 3U);
  EXPECT_EQ(spec.tier, scheduler::Tier::kBatch);
}

TEST(RestSubmit, DefaultsAreThoseOfTheCli) {
  CallNode node;
  node.on(Verb::kSubmit, good_with(JobRef{JobId(7)}));
  node.run(submit_request(R"({"argv": ["/bin/true"], "directory": "/"})"));
  scheduler::JobSpec wanted;
  wanted.name = "true";
  wanted.command.argv = {"/bin/true"};
  wanted.command.directory = "/";
  EXPECT_EQ(decode_payload<SubmitArgs>(node.asked.at(0).arguments)->spec, wanted);
}

TEST(RestSubmit, ABodyThatIsWrongIsRefusedByName) {
  const std::pair<std::string, std::string> rows[] = {
      {R"({"directory": "/"})", "command"},
      {R"({"command": [], "directory": "/"})", "command"},
      {R"({"command": ["a"]})", "directory"},
      {R"({"command": ["a"], "directory": "b"})", "directory"},
      {R"({"command": ["a"], "argv": ["a"], "directory": "/"})", "command"},
      {R"({"command": ["a"], "directory": "/", "gpus": 0})", "ranks"},
      {R"({"command": ["a"], "directory": "/", "gpus": 5000})", "gpus"},
      {R"({"command": ["a"], "directory": "/", "gpu": 1})", "gpu"},
      {R"({"command": ["a"], "directory": "/", "tier": "gold"})", "tier"},
      {R"({"command": ["a"], "directory": "/", "environment": ["A"]})", "environment"},
      {R"({"command": ["a"], "directory": "/", "environment": ["MUSTER_ACCESS=x"]})", "secret"},
      {R"({"command": ["a"], "directory": "/", "after": ["7"]})", "ok:JOB"},
      {R"({"command": ["a"], "directory": "/", "isolation_ms": 5})", "isolation_ms"},
      {R"({"command": ["a"], "directory": "/", "array": {"first": 5, "last": 1}})", "last"},
      {R"({"command": ["a"], "directory": "/", "is_held": true, "array": {"first": 0, "last": 1}})",
       "is_held"},
      {R"({"command": ["a"], "directory": "/", "shell": {"umask": "9"}})", "umask"},
  };
  for (const auto& [body, word] : rows) {
    CallNode node;
    const HttpAnswer answer = node.run(submit_request(body));
    EXPECT_EQ(answer.status, 400) << body;
    EXPECT_NE(answer.body.find(word), std::string::npos) << answer.body;
    EXPECT_TRUE(node.asked.empty()) << body;
  }
}

TEST(RestSubmit, TheKeyIsThatOfTheClientOrDrawnByTheDoor) {
  EXPECT_EQ(*submit_key_of(kKey), kKey);
  EXPECT_EQ(*submit_key_of("\"01234567-89AB-cdef-0123-456789abcdef\""), kKey);
  for (const std::string text :
       {"", "1", "0123456789abcdef0123456789abcdeg", "01234567-89ab-cdef-0123456789abcdef-"}) {
    EXPECT_FALSE(submit_key_of(text)) << text;
  }
  CallNode node;
  node.on(Verb::kSubmit, good_with(JobRef{JobId(7)}));
  const HttpRequest request =
      send(HttpMethod::kPost, "/v1/jobs", R"({"command": ["a"], "directory": "/"})");
  EXPECT_EQ(node.run(request).status, 400);
  RestChance chance;
  chance.submit_key = [] { return std::string(kKey); };
  EXPECT_EQ(node.run(request, chance).body, submitted_json(JobId(7), kKey) + "\n");
}

TEST(RestSubmit, AFailureSaysWhatBecameOfTheJob) {
  CallNode node;
  node.on(Verb::kSubmit, bad(ResponseStatus::kUnknown, "no answer"));
  const std::string body = R"({"command": ["a"], "directory": "/"})";
  const HttpAnswer open = node.run(submit_request(body));
  EXPECT_EQ(open.status, 504);
  EXPECT_NE(open.body.find(std::string("Idempotency-Key: ") + kKey), std::string::npos);
  node.on(Verb::kSubmit, bad(ResponseStatus::kNoQuorum, "no leader"));
  EXPECT_NE(node.run(submit_request(body)).body.find("surely not accepted"), std::string::npos);
  node.on(Verb::kDryRun, good_with(WhyInfo()));
  const HttpAnswer dry = node.run(send(HttpMethod::kPost, "/v1/jobs:dry-run", body));
  EXPECT_EQ(dry.body, dry_run_json(WhyInfo(), good()) + "\n");
}

JobDetail running_job() {
  JobDetail detail;
  detail.summary = call_job(7, "ann", "running");
  AttemptInfo attempt;
  attempt.number = 2;
  attempt.token = {1, 9};
  MemberInfo member;
  member.host = HostId::from_bytes(std::string(16, 'h'));
  member.host_name = "b";
  member.state = "running";
  member.ranks.resize(2);
  member.ranks[1].rank = 1;
  attempt.members = {member};
  detail.attempts = {attempt};
  return detail;
}

TEST(RestOutput, APieceIsLinesOfJsonAndSaysWhereTheNextBegins) {
  CallNode node;
  OutputChunk chunk;
  chunk.bytes = "out\nerr\n\xc3";  // The half of a character.
  chunk.size = 20;
  chunk.marks = {{0, 5, kStdout}, {4, 6, kStderr}};
  node.on(Verb::kShow, good_with(running_job())).on(Verb::kOutput, good_with(chunk));
  const HttpAnswer answer = node.run(get("/v1/jobs/7/ranks/1/output"));
  const OutputPiece out{JobId(7), 2, 1, 0, "out\n", kStdout, 5, false};
  const OutputPiece err{JobId(7), 2, 1, 4, "err\n", kStderr, 6, false};
  EXPECT_EQ(answer.body, to_json(out) + "\n" + to_json(err) + "\n");
  EXPECT_EQ(field(answer, "muster-next"), "8");
  EXPECT_EQ(node.asked[1].target, HostId::from_bytes(std::string(16, 'h')));
  const HttpAnswer only = node.run(get("/v1/jobs/7/ranks/1/output", {{"stream", "stderr"}}));
  EXPECT_EQ(only.body, to_json(err) + "\n");
}

TEST(RestOutput, TheEndIsMarked) {
  CallNode node;
  OutputChunk chunk;
  chunk.bytes = "a";
  chunk.size = 1;
  chunk.ended = true;
  node.on(Verb::kShow, good_with(running_job())).on(Verb::kOutput, good_with(chunk));
  const HttpAnswer answer = node.run(get("/v1/jobs/7/ranks/0/output"));
  EXPECT_EQ(answer.body, to_json(OutputPiece{JobId(7), 2, 0, 0, "a", "", 0, true}) + "\n");
  EXPECT_EQ(field(answer, "muster-next"), "absent");
  EXPECT_EQ(node.run(get("/v1/jobs/7/ranks/2/output")).status, 404);
  EXPECT_EQ(node.run(get("/v1/jobs/7/ranks/0/output", {{"attempt", "1"}})).status, 404);
}

}  // namespace
}  // namespace muster::agent
