// muster init, join and ticket: what they ask for, and that secrets leave this process in the
// ticket alone.

#include <gtest/gtest.h>

#include "agent/api/enrolment.h"
#include "agent/api/hosts.h"
#include "agent/api/quorum.h"
#include "tests/cli/kit/fake_world.h"

namespace muster::cli {
namespace {

using agent::ResponseStatus;

agent::TicketMade made() {
  agent::TicketMade made;
  made.authority = "authority";
  made.contacts.push_back({"10.0.0.1:7450", "link", {}, 1, 1, "", ""});
  return made;
}

TEST(Ticket, IsOneLineOnStdoutAndItsSecretIsToldToNobody) {
  FakeWorld world;
  world.answers(answer_with(made()));
  EXPECT_EQ(world.output_of({"ticket", "--uses", "3", "--ttl", "2h", "--may-vote"}),
            "line of secret at 10.0.0.1:7450\n");
  ASSERT_EQ(world.requests().size(), 1U);
  const agent::Request& request = world.requests()[0];
  EXPECT_EQ(request.verb, agent::Verb::kMakeTicket);
  EXPECT_EQ(request.arguments.find("secret"), std::string::npos);
  const auto asked = agent::decode_payload<agent::TicketArgs>(request.arguments);
  ASSERT_TRUE(asked.has_value());
  EXPECT_EQ(asked->key, "public");
  EXPECT_EQ(asked->uses, 3U);
  EXPECT_EQ(asked->ttl_ms, 7'200'000U);
  EXPECT_TRUE(asked->may_vote);
  EXPECT_NE(world.err().find("3 hosts can join (muster join) within 2h"), std::string::npos)
      << world.err();
}

TEST(Ticket, IsNotWrittenWhereOthersReadIt) {
  FakeWorld world;
  world.open_to_others = {"stdout"};
  EXPECT_EQ(world.run({"ticket"}), 2);
  EXPECT_TRUE(world.requests().empty()) << "nor is one made that nobody has";
  EXPECT_NE(world.err().find("--out FILE"), std::string::npos) << world.err();
  EXPECT_EQ(world.run({"init", "--expect", "3"}), 2);
  EXPECT_TRUE(world.requests().empty());
  world.answers(answer_with(made()));
  EXPECT_EQ(world.output_of({"ticket", "--force"}), "line of secret at 10.0.0.1:7450\n");
}

TEST(Ticket, GoesToAFileOfItsOwner) {
  FakeWorld world;
  world.open_to_others = {"stdout"};
  world.answers(answer_with(made()));
  EXPECT_EQ(world.run({"ticket", "--out", "/m/ticket"}), 2);
  EXPECT_TRUE(world.requests().empty()) << "its line could not be kept";
  world.files = {"/m/", "/m/ticket/"};
  EXPECT_EQ(world.run({"ticket", "--out", "/m/ticket"}), 2);
  EXPECT_NE(world.err().find("so no ticket was made"), std::string::npos) << world.err();
  EXPECT_TRUE(world.requests().empty()) << "a directory is in its place";
  world.files = {"/m/"};
  EXPECT_EQ(world.output_of({"ticket", "--out", "/m/ticket"}), "");
  EXPECT_EQ(world.written["/m/ticket"], "line of secret at 10.0.0.1:7450\n");
  EXPECT_EQ(world.output_of({"init", "--expect", "3", "-o", "/m/founding", "--json"}),
            "{\"founders\":3,\"line\":null,\"file\":\"/m/founding\"}\n");
  EXPECT_EQ(world.written["/m/founding"], "line of secret at 10.0.0.1:7450\n");
}

TEST(Ticket, ListSaysWhichStillLetHostsIn) {
  FakeWorld world;
  agent::TicketList list;
  list.tickets.push_back({"public", 3, 1, 60'000, true, false, "", "ann@a", 0, ""});
  list.tickets.push_back({"older!", 1, 1, 0, false, false, "gpu7", "bob@b", 0, "it was used"});
  world.answers(answer_with(list));
  EXPECT_EQ(world.output_of({"ticket", "list"}),
            "TICKET        USED  OF  ENDS IN  FOR              MADE BY  STATE\n"
            "7075626c6963     1   3       1m  any host (vote)  ann@a    open\n"
            "6f6c64657221     1   1        -  gpu7             bob@b    it was used\n");
}

TEST(Ticket, IsRevokedByTheNameInTheList) {
  FakeWorld world;
  agent::TicketList list;
  list.tickets.push_back({"public", 3, 1, 60'000, true, false, "", "ann@a", 0, ""});
  world.answers_in_turn({answer_with(list), agent::Response{}});
  EXPECT_NE(world.output_of({"ticket", "revoke", "7075"}).find("admits no more hosts"),
            std::string::npos);
  const auto asked = agent::decode_payload<agent::TicketRef>(world.requests().at(1).arguments);
  EXPECT_EQ(asked->key, "public");
  FakeWorld other;
  other.answers(answer_with(list));
  EXPECT_EQ(other.run({"ticket", "revoke", "8"}), 6);
}

TEST(Init, OfThreePrintsTheFoundingTicket) {
  FakeWorld world;
  world.answers(answer_with(made()));
  EXPECT_EQ(world.output_of({"init", "--expect", "3"}), "line of secret at 10.0.0.1:7450\n");
  const auto asked = agent::decode_payload<agent::FoundArgs>(world.requests().at(0).arguments);
  EXPECT_EQ(asked->founders, 3U);
  EXPECT_EQ(asked->ticket, "public");
  FakeWorld wrong;
  EXPECT_EQ(wrong.run({"init", "--expect", "2"}), 2);
}

/// An agent whose cluster has a leader, and knows this host or not.
FakeWorld::Answer member(bool is_led, bool is_registered, std::uint64_t founders_met = 3) {
  return [=](const agent::Request& request) -> Result<agent::Response> {
    agent::VersionInfo version;
    version.host_name = "b";
    version.generation = Generation(1);
    agent::QuorumInfo quorum;
    quorum.leader_name = is_led ? "a" : "";
    quorum.founders_wanted = 3;
    quorum.founders_met = founders_met;
    if (request.verb == agent::Verb::kVersion) {
      return answer_with(version);
    }
    if (request.verb == agent::Verb::kQuorum) {
      return answer_with(quorum);
    }
    if (request.verb == agent::Verb::kHostDetail) {
      return is_registered ? answer_with(agent::HostDetail())
                           : refusal(ResponseStatus::kNotFound, "no such host");
    }
    return request.verb == agent::Verb::kFound ? answer_with(made()) : agent::Response();
  };
}

TEST(Init, AloneWaitsForTheQuorumAndMakesNoTicket) {
  FakeWorld world;
  world.answers(member(true, true));
  EXPECT_NE(world.output_of({"init"}).find("is founded"), std::string::npos);
  const auto asked = agent::decode_payload<agent::FoundArgs>(world.requests().at(0).arguments);
  EXPECT_EQ(asked->ticket, "");
  FakeWorld never;
  never.answers(member(true, false));
  EXPECT_EQ(never.run({"init"}), 1) << "until the log knows the host nothing can be submitted";
}

TEST(Join, ReturnsWhenTheClusterAnswers) {
  FakeWorld late;
  late.answers(member(false, false));
  EXPECT_EQ(late.run({"join", "-"}), 1);
  EXPECT_NE(late.err().find("does not answer it yet"), std::string::npos) << late.err();
  FakeWorld founder;
  founder.answers(member(false, false, 2));
  EXPECT_EQ(founder.output_of({"join", "-"}), "host b is a founder of the cluster\n");
  EXPECT_NE(founder.err().find("1 more founder has to join"), std::string::npos) << founder.err();
  FakeWorld image;
  image.answers(member(false, false));
  EXPECT_EQ(image.run({"join", "-", "--no-wait"}), 0);
}

TEST(Join, WaitsForAnAgentThatWasStartedAMomentAgo) {
  FakeWorld never;
  never.refuses_connections();
  EXPECT_EQ(never.run({"join", "-"}), 5);
  EXPECT_GE(never.slept(), std::chrono::seconds(5));
  EXPECT_LE(never.slept(), std::chrono::seconds(6));
  EXPECT_EQ(never.run({"init", "--timeout", "1s"}), 5);
  EXPECT_LE(never.slept(), std::chrono::seconds(8));
}

TEST(Join, TakesNoTicketThatOthersCanRead) {
  FakeWorld world;
  world.open_to_others = {"/etc/ticket"};
  world.files = {"/etc/ticket"};
  EXPECT_EQ(world.run({"join", "/etc/ticket"}), 4);
  EXPECT_TRUE(world.requests().empty());
}

TEST(Join, TakesTheTicketFromAFileFromStdinOrAsAWord) {
  for (const char* given : {"-", "/etc/ticket", "muster1.abc"}) {
    FakeWorld world;
    world.answers(member(true, true));
    EXPECT_EQ(world.output_of({"join", given}), "host b is a founder of the cluster\n");
    const auto asked = agent::decode_payload<agent::EnterArgs>(world.requests().at(0).arguments);
    EXPECT_EQ(asked->ticket,
              std::string(given) == "muster1.abc" ? given : "text of " + std::string(given));
  }
  FakeWorld world;
  world.answers(refusal(ResponseStatus::kConflict, "the ticket was used"));
  EXPECT_EQ(world.run({"join", "-"}), 7);
  EXPECT_NE(world.err().find("the ticket was used"), std::string::npos);
}

}  // namespace
}  // namespace muster::cli
