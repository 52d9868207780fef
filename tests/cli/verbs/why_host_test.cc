// The questions of `muster why-host` and its output.

#include <gtest/gtest.h>

#include "agent/api/hosts.h"
#include "agent/api/payload.h"
#include "agent/api/request.h"
#include "tests/cli/kit/fake_world.h"
#include "tests/cli/kit/samples.h"

namespace muster::cli {
namespace {

agent::WhyHostInfo sample_why_host() {
  agent::WhyHostInfo why{sample_hosts().hosts.at(1),
                         {{"a", "silent", false, 12'000}, {"d", "agent_down", true, 3'000}},
                         {"c", "e"},
                         2,
                         3};
  why.events = {{7, 61'000, "warn", "unreachable host=b", "unreachable", 1'700'000'000'123}};
  return why;
}

TEST(WhyHost, SaysWhoHearsItAndWhoDoesNot) {
  FakeWorld world;
  world.answers_in_turn({answer_with(sample_hosts()), answer_with(sample_why_host())});
  EXPECT_EQ(
      world.output_of({"why-host", "b"}),
      "host b (62626262) is unreachable, silent for 12s, as host a sees it\n2 of its 4 observers "
      "get no answer from it; 2 such claims make it suspect, 3 unreachable\n\nOBSERVER  CLAIM      "
      "                                                             SINCE\na         silent        "
      "                                                            12s\nd         refused: the "
      "agent is "
      "down, while cut off itself: does not count alone     3s\nc         none, it hears it\ne     "
      "    none, it hears it\n\n2023-11-14 22:13:20  unreachable host=b\n");
  const auto asked = agent::decode_payload<agent::HostRef>(world.requests().at(1).arguments);
  EXPECT_EQ(asked->host, host_id('b'));
}

TEST(WhyHost, AVerdictOutlastsItsClaims) {
  FakeWorld world;
  agent::WhyHostInfo why = sample_why_host();
  why.claims.clear();
  why.content = {"a", "c"};
  why.events.clear();
  why.storm = {"partition_suspected", 42'000, "12 of 24 hosts suspect"};
  world.answers_in_turn({answer_with(sample_hosts()), answer_with(why)});
  const std::string text = world.output_of({"why-host", "b"});
  EXPECT_TRUE(text.starts_with("! partition_suspected for 42s")) << text;
  EXPECT_NE(text.find("all of its 2 observers hear it; it is alive again once that has lasted 3 s, "
                      "longer if it comes and goes\n"),
            std::string::npos)
      << text;
}

TEST(WhyHost, Json) {
  FakeWorld world;
  world.answers_in_turn({answer_with(sample_hosts()), answer_with(sample_why_host())});
  const std::string json = world.output_of({"why-host", "b", "--json"});
  EXPECT_NE(
      json.find(R"("claims":[{"observer":"a","kind":"silent","is_weak":false,"age_ms":12000},)"),
      std::string::npos)
      << json;
  EXPECT_NE(json.find(R"("heard_by":["c","e"],"suspect_from":2,"unreachable_from":3,"storm":)"),
            std::string::npos)
      << json;
}

TEST(WhyHost, AnUnknownHostIsNotFound) {
  FakeWorld world;
  world.answers(answer_with(sample_hosts()));
  EXPECT_EQ(world.run({"why-host", "zebra"}), 6);
}

}  // namespace
}  // namespace muster::cli
