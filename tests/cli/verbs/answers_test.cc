// version, leave and cancel, and how every verb treats an answer: its status, its payload, or its
// absence.

#include <gtest/gtest.h>

#include "agent/api/hosts.h"
#include "agent/api/jobs.h"
#include "agent/api/payload.h"
#include "agent/api/quorum.h"
#include "agent/api/request.h"
#include "agent/api/stats.h"
#include "tests/cli/kit/fake_world.h"
#include "tests/cli/kit/samples.h"

namespace muster::cli {
namespace {

using agent::ResponseStatus;

TEST(Stats, AreATableAndJson) {
  agent::StatsInfo stats;
  stats.uptime_ms = 61'000;
  stats.counters = {{"received.rows", 12, 3400, 5600}, {"rows.publishes", 3}};
  FakeWorld text;
  text.answers(answer_with(stats));
  EXPECT_EQ(text.output_of({"stats"}),
            "host a, started 1m ago\n"
            "NAME            COUNT  BYTES  CPU MS\n"
            "received.rows      12   3400       5\n"
            "rows.publishes      3      -       -\n");
  EXPECT_EQ(text.requests()[0].verb, agent::Verb::kStats);
  FakeWorld json;
  json.answers(answer_with(stats));
  EXPECT_EQ(json.output_of({"stats", "--json"}),
            R"({"uptime_ms":61000,"counters":[)"
            R"({"name":"received.rows","count":12,"bytes":3400,"cpu_us":5600},)"
            R"({"name":"rows.publishes","count":3,"bytes":null,"cpu_us":null}],)"
            R"("answered_by":"a","age_ms":0})"
            "\n");
}

TEST(Version, OfBothSides) {
  agent::VersionInfo node{"0.1.0", 1, "a", host_id('a'), Generation(4), ClusterId()};
  FakeWorld text;
  text.answers(answer_with(node));
  EXPECT_EQ(text.output_of({"version"}),
            "muster 0.1.0 (protocol 9)\n"
            "node a (61616161): muster 0.1.0 (protocol 1), generation 4, no cluster yet\n");
  FakeWorld json;
  json.answers(answer_with(node));
  EXPECT_EQ(json.output_of({"version", "--json"}),
            R"({"product":"0.1.0","protocol":9,"node":{"product":"0.1.0","protocol":1,"host":"a",)"
            R"("host_id":"61616161616161616161616161616161","generation":4,"cluster":null}})"
            "\n");
}

TEST(Version, WithoutANodeIsStillAnswered) {
  FakeWorld world;
  world.refuses_connections();
  EXPECT_EQ(world.output_of({"version", "--node", "/n.sock"}), "muster 0.1.0 (protocol 9)\n");
  EXPECT_EQ(world.err(), "muster: no agent answers at ipc:///n.sock\n");
}

TEST(Leave, NamesTheHost) {
  FakeWorld world;
  world.answers(refusal(ResponseStatus::kOk, ""));
  EXPECT_EQ(world.output_of({"leave", "--yes"}), "host a leaves\n");
  EXPECT_EQ(world.requests()[0].verb, agent::Verb::kLeave);
}

TEST(Leave, AVoterIsWarnedOf) {
  FakeWorld world;
  world.answers(refusal(ResponseStatus::kOk, "host a is a voter"));
  EXPECT_EQ(world.output_of({"leave", "--force", "--yes"}), "host a leaves\n");
  EXPECT_EQ(world.err(), "muster: warning: host a is a voter\n");
  EXPECT_TRUE(agent::decode_payload<agent::LeaveArgs>(world.requests()[0].arguments)->force);
}

TEST(Leave, NeverGoesOnToAnotherNode) {
  FakeWorld world;
  world.dead = {"ipc:///a.sock"};
  EXPECT_EQ(world.run({"leave", "-y", "--node", "/a.sock,/b.sock"}), 5);
  EXPECT_TRUE(world.requests().empty());
}

TEST(Cancel, GoesOnThroughTheNextNode) {
  FakeWorld world;
  world.dead = {"ipc:///a.sock"};
  world.answers(answer_with(agent::JobRef{JobId(1)}));
  EXPECT_EQ(world.output_of({"cancel", "1", "--node", "/a.sock,/b.sock"}), "job 1 cancelled\n");
  EXPECT_EQ(world.requests().at(0).user, "ann");
}

TEST(Cancel, NoQuorumAfterASilentTryIsUnknown) {
  FakeWorld world;
  world.answers_in_turn({silence(), refusal(ResponseStatus::kNoQuorum, "no leader")});
  EXPECT_EQ(world.run({"cancel", "1"}), 75);
}

TEST(Cancel, GoesOnAfterAFailureAndExitsWithIt) {
  FakeWorld world;
  world.answers_in_turn({answer_with(agent::JobRef{JobId(1)}),
                         refusal(ResponseStatus::kNotFound, "no such job"),
                         answer_with(agent::JobRef{JobId(3)})});
  EXPECT_EQ(world.run({"cancel", "1", "2", "3", "--yes"}), 6);
  EXPECT_EQ(world.out(), "job 1 cancelled\njob 3 cancelled\n");
  EXPECT_EQ(world.err(), "muster: job 2: no such job\n");
}

TEST(Cancel, Json) {
  FakeWorld world;
  world.answers_in_turn(
      {answer_with(agent::JobRef{JobId(1)}), refusal(ResponseStatus::kNotFound, "no such job")});
  EXPECT_EQ(world.run({"cancel", "1", "2", "-y", "--json"}), 6);
  EXPECT_EQ(world.out(),
            R"({"cancelled_jobs":[1],"errors":[{"job_id":2,"error":"job 2: no such job",)"
            R"("exit_code":6,"retry_after_ms":null}]})"
            "\n");
}

TEST(Cancel, IsRepeatedOnceAndThenUnknown) {
  FakeWorld world;
  world.answers_in_turn({silence(), silence()});
  EXPECT_EQ(world.run({"cancel", "1"}), 75);
  EXPECT_NE(world.err().find("repeat with: muster cancel 1"), std::string::npos);
}

TEST(Reading, EveryStatusIsTheExitCode) {
  for (const ResponseStatus status :
       {ResponseStatus::kFailed, ResponseStatus::kUsage, ResponseStatus::kImpossible,
        ResponseStatus::kDenied, ResponseStatus::kNoQuorum, ResponseStatus::kNotFound,
        ResponseStatus::kConflict, ResponseStatus::kUnknown}) {
    FakeWorld world;
    world.answers(refusal(status, "because"));
    EXPECT_EQ(world.run({"show", "1"}), static_cast<int>(status));
    EXPECT_EQ(world.err(), "muster: because\n");
  }
}

TEST(Reading, ANodeThatDoesNotAnswerIsAFailureNotAnUnknownOutcome) {
  FakeWorld world;
  world.answers_in_turn({silence()});
  EXPECT_EQ(world.run({"jobs"}), 1);
}

TEST(Reading, AStrangePayloadIsAFailure) {
  FakeWorld world;
  agent::Response response;
  response.payload = "\x93junk";
  world.answers(response);
  EXPECT_EQ(world.run({"jobs", "--json"}), 1);
  EXPECT_NE(world.out().find("\"exit_code\":1"), std::string::npos);
}

TEST(Reading, ConsistentReachesTheRequest) {
  FakeWorld world;
  world.answers(answer_with(agent::JobList{}));
  world.output_of({"jobs", "--consistent"});
  EXPECT_TRUE(world.requests()[0].consistent);
}

}  // namespace
}  // namespace muster::cli
