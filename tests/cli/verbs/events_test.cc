// The questions of `muster events` and its output.

#include <gtest/gtest.h>

#include "agent/api/audit.h"
#include "agent/api/events.h"
#include "agent/api/hosts.h"
#include "agent/api/payload.h"
#include "agent/api/request.h"
#include "tests/cli/kit/fake_world.h"
#include "tests/cli/kit/samples.h"

namespace muster::cli {
namespace {

using agent::ResponseStatus;

agent::EventsPage sample_events() {
  return {{{7, 61'000, "info", "host_joined name=b", "host_joined", 1'700'000'000'123},
           {8, 900, "alarm", "host_lost name=b", "host_lost", 1'700'000'061'000}},
          3,
          8};
}

TEST(Events, Text) {
  FakeWorld world;
  world.answers(answer_with(sample_events()));
  EXPECT_EQ(world.output_of({"events"}),
            "2023-11-14 22:13:20  info   host_joined name=b\n"
            "2023-11-14 22:14:21  alarm  host_lost name=b\n");
  EXPECT_EQ(world.err(),
            "muster: 3 events are no longer kept by the node\n"
            "muster: the newest 2 events of host a\n");
  const auto query = agent::decode_payload<agent::EventsQuery>(world.requests().at(0).arguments);
  EXPECT_EQ(query->newest, 50U);
  EXPECT_TRUE(world.requests()[0].target.is_zero());
}

TEST(Events, Json) {
  FakeWorld world;
  world.answers(answer_with(agent::EventsPage{{sample_events().events[0]}, 3, 7}));
  EXPECT_EQ(world.output_of({"events", "--json"}),
            R"({"events":[{"sequence":7,"age_ms":61000,"level":"info",)"
            R"("text":"host_joined name=b","name":"host_joined","unix_ms":1700000000123}],)"
            R"("lost_events":3,"last_sequence":7,"answered_by":"a","age_ms":0})"
            "\n");
}

agent::AuditInfo audit_line(std::uint64_t number, const std::string& outcome,
                            const std::string& why) {
  agent::AuditInfo line;
  line.number = number;
  line.index = LogIndex(40 + number);
  line.unix_ms = 1'700'000'000'123;
  line.by = "ann@n1";
  line.user = "ann";
  line.host_name = "n1";
  line.proof = "host";
  line.verb = "cancel";
  line.object = "job 12";
  line.outcome = outcome;
  line.why = why;
  return line;
}

TEST(Events, AuditPrintsLinesOfThePagesTogether) {
  FakeWorld world;
  agent::AuditPage first{{audit_line(7, "done", "")}, 7, 1, 9, false};
  agent::AuditPage second{
      {audit_line(8, "refused", "not_found"), audit_line(9, "denied", "denied")}, 0, 1, 9, false};
  second.lines[1].told_by = "n2";
  world.answers_in_turn({answer_with(first), answer_with(second)});
  EXPECT_EQ(world.output_of({"events", "--audit", "--user", "ann", "--verb", "cancel", "-n", "0"}),
            "TIME                 USER  HOST  VERB    OBJECT  OUTCOME\n"
            "2023-11-14 22:13:20  ann   n1    cancel  job 12  done\n"
            "2023-11-14 22:13:20  ann   n1    cancel  job 12  refused: not found\n"
            "2023-11-14 22:13:20  ann   n1    cancel  job 12  denied (told by n2)\n");
  EXPECT_EQ(world.requests().at(0).verb, agent::Verb::kAudit);
  const auto query = agent::decode_payload<agent::AuditQuery>(world.requests().at(1).arguments);
  EXPECT_EQ(query, (agent::AuditQuery{7, 0, 0, "ann", "cancel"}));
}

TEST(Events, AuditSaysThatItShowsOwnLines) {
  FakeWorld world;
  world.answers(answer_with(agent::AuditPage{{}, 0, 0, 0, true}));
  EXPECT_EQ(world.output_of({"events", "--audit"}), "");
  EXPECT_EQ(
      world.err(),
      "muster: these are your own lines: operators and administrators see those of all users\n"
      "muster: the audit has no such line\n");
}

TEST(Events, AuditJson) {
  FakeWorld world;
  world.answers(answer_with(agent::AuditPage{{audit_line(7, "done", "")}, 0, 3, 7, false}));
  EXPECT_EQ(world.output_of({"events", "--audit", "--json"}),
            R"({"audit":[{"audit_number":7,"unix_ms":1700000000123,"index":47,"by":"ann@n1",)"
            R"("user":"ann","host":"n1","host_id":null,"told_by":null,"proof":"host",)"
            R"("verb":"cancel","object":"job 12","outcome":"done","why":null}],)"
            R"("first_audit_number":3,"last_audit_number":7,"answered_by":"a","age_ms":0})"
            "\n");
}

TEST(Events, AuditTakesOnlyItsOwnFilters) {
  FakeWorld world;
  EXPECT_EQ(world.run({"events", "--audit", "--level", "warn"}), 2);
  EXPECT_EQ(world.run({"events", "--audit", "-f"}), 2);
  EXPECT_EQ(world.run({"events", "--user", "ann"}), 2);
}

agent::EventsQuery query_of(const FakeWorld& world, std::size_t request) {
  return agent::decode_payload<agent::EventsQuery>(world.requests().at(request).arguments).value();
}

TEST(Events, FollowGoesOnFromNow) {
  FakeWorld world;
  const agent::EventsPage nothing{{}, 0, 8};
  const agent::EventsPage one{
      {{9, 5, "warn", "suspect host=c", "suspect", 1'700'000'062'000}}, 0, 9};
  world.answers_in_turn({answer_with(sample_events()), answer_with(nothing), answer_with(one),
                         refusal(ResponseStatus::kFailed, "stopping")});
  EXPECT_EQ(world.run({"events", "-f", "--level", "warn", "--event", "suspect"}), 1);
  EXPECT_EQ(world.out(), "2023-11-14 22:14:22  warn   suspect host=c\n");
  EXPECT_EQ(query_of(world, 0).newest, 1U);
  EXPECT_EQ(query_of(world, 1).after, 8U);
  EXPECT_EQ(query_of(world, 1).newest, 0U);
  EXPECT_EQ(query_of(world, 3).after, 9U);
  EXPECT_EQ(query_of(world, 3).severity, "warn");
  EXPECT_EQ(query_of(world, 3).names, std::vector<std::string>{"suspect"});
}

TEST(Events, FollowShowsTheLastOnesWhenTheirNumberIsGiven) {
  FakeWorld world;
  world.answers_in_turn(
      {answer_with(sample_events()), refusal(ResponseStatus::kFailed, "stopping")});
  EXPECT_EQ(world.run({"events", "-f", "-n", "2", "--json"}), 1);
  EXPECT_EQ(query_of(world, 0).newest, 2U);
  EXPECT_EQ(world.out().substr(0, world.out().find('\n')),
            R"({"sequence":7,"age_ms":61000,"level":"info","text":"host_joined name=b",)"
            R"("name":"host_joined","unix_ms":1700000000123})");
}

TEST(Events, ANodeThatLostWhatItKeptIsReadFromItsNewBeginning) {
  FakeWorld world;
  const agent::EventsPage anew{{{1, 5, "info", "started", "started", 1'700'000'062'000}}, 0, 1};
  world.answers_in_turn({answer_with(sample_events()), answer_with(agent::EventsPage{{}, 0, 1}),
                         answer_with(anew), refusal(ResponseStatus::kFailed, "stopping")});
  EXPECT_EQ(world.run({"events", "-f"}), 1);
  EXPECT_EQ(world.out(), "2023-11-14 22:14:22  info   started\n");
  EXPECT_EQ(query_of(world, 2).after, 0U);
}

TEST(Events, FollowedOnAnotherNodeItSaysSoAndMixesNoNumbers) {
  FakeWorld world;
  agent::Response other = answer_with(agent::EventsPage{{}, 0, 5000});
  other.answered_by = "b";
  agent::Response next = answer_with(
      agent::EventsPage{{{5001, 5, "info", "left", "left", 1'700'000'062'000}}, 0, 5001});
  next.answered_by = "b";
  world.answers_in_turn(
      {answer_with(sample_events()), other, next, refusal(ResponseStatus::kFailed, "stopping")});
  EXPECT_EQ(world.run({"events", "-f"}), 1);
  EXPECT_EQ(world.out(), "2023-11-14 22:14:22  info   left\n");
  EXPECT_EQ(query_of(world, 2).after, 5000U);
  EXPECT_NE(world.err().find("host a does not answer: from here on the events of host b"),
            std::string::npos);
}

TEST(Events, MoreThanOneAnswerHoldsAreAskedForPageByPage) {
  FakeWorld world;
  agent::EventsPage first = sample_events();
  first.last = 9;
  const agent::EventsPage rest{{{9, 5, "info", "left", "left", 1'700'000'062'000}}, 0, 9};
  world.answers_in_turn({answer_with(first), answer_with(rest)});
  EXPECT_NE(world.output_of({"events", "-n", "0"}).find("info   left"), std::string::npos);
  EXPECT_EQ(query_of(world, 0).newest, 0U);
  EXPECT_EQ(query_of(world, 1).after, 8U);
}

TEST(Events, OfAnotherHost) {
  FakeWorld world;
  world.answers_in_turn({answer_with(sample_hosts()), answer_with(sample_events())});
  const std::string name = sample_hosts().hosts.at(0).name;
  EXPECT_EQ(world.run({"events", "--host", name, "--since", "1h"}), 0);
  EXPECT_EQ(world.requests().at(1).target, sample_hosts().hosts.at(0).id);
  EXPECT_EQ(query_of(world, 1).since_ms, 3'600'000U);
}

TEST(Events, AnUnknownLevelNamesThoseThereAre) {
  FakeWorld world;
  EXPECT_EQ(world.run({"events", "--level", "error"}), 2);
  EXPECT_NE(world.err().find("'error' is not a level; the levels are: info, warn, alarm"),
            std::string::npos);
}

}  // namespace
}  // namespace muster::cli
