// suspend, resume, requeue and hosts fence: what they ask, repeat and say. cancel is in views_test.

#include <gtest/gtest.h>

#include "agent/api/enrolment.h"
#include "agent/api/hosts.h"
#include "agent/api/jobs.h"
#include "agent/api/payload.h"
#include "agent/api/quorum.h"
#include "agent/api/request.h"
#include "tests/cli/kit/fake_world.h"
#include "tests/cli/kit/samples.h"

namespace muster::cli {
namespace {

using agent::ResponseStatus;
using agent::Verb;

agent::Response job_is(const std::string& state, std::uint64_t attempt = 1) {
  agent::JobDetail detail = sample_detail();
  detail.summary = sample_job(7, state);
  detail.summary.attempt = attempt;
  return answer_with(detail);
}

agent::Response done() {
  return answer_with(agent::JobRef{JobId(7)});
}

TEST(Orders, EachAsksForItsVerb) {
  for (const auto& [name, verb, said] : {std::tuple{"suspend", Verb::kSuspend, "job 7 suspended\n"},
                                         std::tuple{"resume", Verb::kResume, "job 7 resumed\n"}}) {
    FakeWorld world;
    world.answers(done());
    EXPECT_EQ(world.output_of({name, "7"}), said);
    ASSERT_EQ(world.requests().size(), 1U);
    EXPECT_EQ(world.requests()[0].verb, verb);
    EXPECT_EQ(world.requests()[0].user, "ann");
    EXPECT_EQ(agent::decode_payload<agent::JobRef>(world.requests()[0].arguments)->job, JobId(7));
  }
}

TEST(Orders, ARequeueNamesTheAttemptThatTheLeaderKnows) {
  FakeWorld world;
  world.answers_in_turn({job_is("running", 3), done()});
  EXPECT_EQ(world.output_of({"requeue", "7"}), "job 7 requeued\n");
  ASSERT_EQ(world.requests().size(), 2U);
  EXPECT_TRUE(world.requests()[0].consistent);
  const auto asked = agent::decode_payload<agent::RequeueArgs>(world.requests()[1].arguments);
  EXPECT_EQ(asked->job, JobId(7));
  EXPECT_EQ(asked->attempt, 3U);
}

TEST(Orders, ARequeueThatCannotAskFirstIsSurelyNotDone) {
  FakeWorld world;
  world.answers_in_turn({silence(), silence()});
  EXPECT_EQ(world.run({"requeue", "7"}), 5);
  FakeWorld other;
  other.answers(refusal(ResponseStatus::kNotFound, "there is no job 7"));
  EXPECT_EQ(other.run({"requeue", "7"}), 6);
}

TEST(Orders, AConflictIsSaidOnce) {
  FakeWorld world;
  world.answers(refusal(ResponseStatus::kConflict, "job 7 has completed: nothing to suspend"));
  EXPECT_EQ(world.run({"suspend", "7"}), 7);
  EXPECT_EQ(world.err(), "muster: job 7 has completed: nothing to suspend\n");
  EXPECT_EQ(world.requests().size(), 1U);
}

TEST(Orders, AnUnknownOutcomeSaysHowToRepeat) {
  FakeWorld world;
  world.answers_in_turn({silence(), silence()});
  EXPECT_EQ(world.run({"suspend", "7"}), 75);
  EXPECT_NE(world.err().find("repeat with: muster suspend 7"), std::string::npos);
}

TEST(Orders, AnAddressThatCannotBeUsedSaysNothingAboutTheSilentTry) {
  FakeWorld world;
  world.unusable = {"ipc:///b.sock"};
  world.answers_in_turn({silence()});
  EXPECT_EQ(world.run({"suspend", "7", "--node", "/a.sock,/b.sock"}), 75);
  EXPECT_NE(world.err().find("repeat with: muster suspend 7"), std::string::npos);
}

/// The first try was lost on the way back, and the second meets what it did.
int after_a_lost_answer(const std::string& verb, const std::string& state,
                        std::uint64_t attempt = 1) {
  FakeWorld world;
  std::vector<Result<agent::Response>> answers = {
      silence(), refusal(ResponseStatus::kConflict, "job 7 has ended"), job_is(state, attempt)};
  if (verb == "requeue") {
    answers.insert(answers.begin(), job_is("running"));
  }
  world.answers_in_turn(answers);
  return world.run({verb, "7", "--yes"});
}

TEST(Orders, AConflictWithItsOwnSuccessIsASuccess) {
  EXPECT_EQ(after_a_lost_answer("cancel", "cancelled"), 0);
  EXPECT_EQ(after_a_lost_answer("cancel", "completed"), 7);
  EXPECT_EQ(after_a_lost_answer("resume", "completed"), 0);
  EXPECT_EQ(after_a_lost_answer("resume", "cancelled"), 7);
  EXPECT_EQ(after_a_lost_answer("requeue", "completed", 2), 0);
  EXPECT_EQ(after_a_lost_answer("requeue", "completed", 1), 7);
}

TEST(Orders, JsonNamesWhatWasDone) {
  FakeWorld world;
  world.answers(done());
  EXPECT_EQ(world.output_of({"suspend", "7", "8", "--json"}),
            "{\"suspended_jobs\":[7,8],\"errors\":[]}\n");
}

TEST(Cancel, OfAWholeArrayOrManyTasksIsAskedFirst) {
  agent::JobDetail array = sample_detail();
  array.summary = sample_job(7, "running");
  array.summary.tasks = 1000;
  for (const char* meant : {"7", "7.0-99"}) {
    FakeWorld world;
    world.answers_in_turn({answer_with(array)});
    EXPECT_EQ(world.run({"cancel", meant}), 2) << "there is nobody to ask";
    EXPECT_NE(world.err().find("use --yes"), std::string::npos) << world.err();
    FakeWorld sure;
    sure.answers(done());
    EXPECT_EQ(sure.run({"cancel", meant, "--yes"}), 0);
    EXPECT_EQ(sure.requests().back().verb, Verb::kCancel);
  }
  FakeWorld few;
  few.answers(done());
  EXPECT_EQ(few.run({"cancel", "7.0-9"}), 0);
}

TEST(Revoke, IsAskedFirstAndSaysWhatElseEnded) {
  FakeWorld world;
  world.answers(answer_with(sample_hosts()));
  EXPECT_EQ(world.run({"hosts", "revoke", "b"}), 2);
  EXPECT_EQ(world.requests().size(), 1U);
  FakeWorld sure;
  sure.answers_in_turn({answer_with(sample_hosts()), refusal(ResponseStatus::kOk, "2 tickets")});
  EXPECT_EQ(sure.output_of({"hosts", "revoke", "b", "-y"}), "host b revoked\n");
  EXPECT_NE(sure.err().find("2 tickets"), std::string::npos);
}

TEST(Revoke, OfAVoterIsSaidAgainUntilAnotherHostVotes) {
  FakeWorld world;
  world.answers_in_turn({answer_with(sample_hosts()),
                         refusal(ResponseStatus::kNoQuorum, "its vote cannot be spared yet"),
                         refusal(ResponseStatus::kNoQuorum, "its vote cannot be spared yet"),
                         agent::Response()});
  EXPECT_EQ(world.output_of({"hosts", "revoke", "b", "-y"}), "host b revoked\n");
  EXPECT_EQ(world.requests().size(), 4U);
}

TEST(SetHost, SaysWhichRightsChange) {
  FakeWorld world;
  world.answers_in_turn({answer_with(sample_hosts()), agent::Response()});
  EXPECT_EQ(world.output_of({"hosts", "set", "b", "--may-vouch", "yes"}), "host b changed\n");
  ASSERT_EQ(world.requests().size(), 2U);
  EXPECT_EQ(world.requests()[1].verb, Verb::kSetHost);
  const auto asked = agent::decode_payload<agent::SetHostArgs>(world.requests()[1].arguments);
  ASSERT_TRUE(asked.has_value());
  EXPECT_EQ(asked->may_vouch, agent::Wish::kYes);
  EXPECT_EQ(asked->may_vote, agent::Wish::kAsItIs);
  FakeWorld wrong;
  EXPECT_EQ(wrong.run({"hosts", "set", "b"}), 2);
  EXPECT_EQ(wrong.run({"hosts", "set", "b", "--may-vote", "maybe"}), 2);
}

TEST(Fence, ResolvesTheNameAndAsksTheLeader) {
  FakeWorld world;
  world.answers_in_turn({answer_with(sample_hosts()), done()});
  EXPECT_EQ(world.output_of({"hosts", "fence", "b", "--yes"}), "host b fenced\n");
  ASSERT_EQ(world.requests().size(), 2U);
  EXPECT_EQ(world.requests()[1].verb, Verb::kFence);
  EXPECT_EQ(agent::decode_payload<agent::FenceArgs>(world.requests()[1].arguments)->host,
            host_id('b'));
  FakeWorld by_id;
  by_id.answers_in_turn({answer_with(sample_hosts()), done()});
  EXPECT_EQ(by_id.output_of({"hosts", "fence", host_id('b').short_hex(), "--yes", "--json"}),
            "{\"fenced\":\"b\",\"host_id\":\"" + host_id('b').hex() + "\"}\n");
}

TEST(Fence, WithoutYesNothingIsDoneUnlessAPersonAgrees) {
  FakeWorld script;
  script.answers(answer_with(sample_hosts()));
  EXPECT_EQ(script.run({"hosts", "fence", "b"}), 2);
  EXPECT_NE(script.err().find("use --yes if you are sure that it is off"), std::string::npos);
  EXPECT_EQ(script.requests().size(), 1U);
  for (const bool agrees : {true, false}) {
    FakeWorld person;
    std::string asked;
    person.world().terminal.ask = [&](const std::string& question) {
      asked = question;
      return std::optional<std::string>(agrees ? "yes" : "n");
    };
    person.answers_in_turn({answer_with(sample_hosts()), done()});
    EXPECT_EQ(person.run({"hosts", "fence", "b"}), agrees ? 0 : 2);
    EXPECT_NE(asked.find("host b has been unreachable, silent for 12s"), std::string::npos)
        << asked;
    EXPECT_EQ(person.requests().size(), agrees ? 2U : 1U);
  }
}

TEST(Fence, AnUnknownHostIsNotFoundAndOneThatAnswersIsAConflict) {
  FakeWorld world;
  world.answers(answer_with(sample_hosts()));
  EXPECT_EQ(world.run({"hosts", "fence", "z", "--yes"}), 6);
  FakeWorld alive;
  alive.answers_in_turn({answer_with(sample_hosts()),
                         refusal(ResponseStatus::kConflict, "host a answers, so it is not off")});
  EXPECT_EQ(alive.run({"hosts", "fence", "a", "--yes"}), 7);
  FakeWorld twins;
  agent::HostList list = sample_hosts();
  list.hosts[2].name = "b";
  twins.answers(answer_with(list));
  EXPECT_EQ(twins.run({"hosts", "fence", "b", "--yes"}), 7);
}

TEST(QuorumChange, EachNamesItsHostAndSaysWhatIsDone) {
  agent::Response with_text = done();
  with_text.text = "it votes when it has caught up";
  for (const auto& [verb, action, said] :
       {std::tuple{"add", agent::QuorumAction::kAdd,
                   "host b added: it votes when it has caught up"},
        std::tuple{"remove", agent::QuorumAction::kRemove, "host b no longer votes: it votes when"},
        std::tuple{"transfer", agent::QuorumAction::kTransfer, "host b leads: it votes when"}}) {
    FakeWorld world;
    const bool asks_first = action == agent::QuorumAction::kRemove;
    world.answers_in_turn({answer_with(sample_hosts())});
    if (asks_first) {
      agent::QuorumInfo lame = sample_quorum();
      lame.tolerates = 0;
      world.answers_in_turn({answer_with(lame)});
    }
    world.answers_in_turn({with_text});
    EXPECT_EQ(world.output_of({"quorum", verb, "b"}).find(said), 0U) << world.out();
    const agent::Request& order = world.requests().back();
    ASSERT_EQ(world.requests().size(), asks_first ? 3U : 2U);
    EXPECT_EQ(order.verb, Verb::kChangeQuorum);
    const auto wish = agent::decode_payload<agent::QuorumWish>(order.arguments);
    EXPECT_EQ(wish->action, action);
    EXPECT_EQ(wish->host, host_id('b'));
  }
}

/// Of three voters that all live.
agent::QuorumInfo three_voters() {
  agent::QuorumInfo quorum = sample_quorum();
  quorum.voters.push_back({host_id('c'), "c", 120, 10, "follower"});
  quorum.tolerates = 1;
  return quorum;
}

TEST(QuorumChange, BeforeNoVoterMayFailItAsks) {
  FakeWorld script;
  script.answers_in_turn({answer_with(sample_hosts()), answer_with(three_voters())});
  EXPECT_EQ(script.run({"quorum", "remove", "b"}), 2);
  EXPECT_NE(script.err().find(
                "host b keeps its vote: with 2 voters left, the failure of one would stop all"),
            std::string::npos)
      << script.err();
  EXPECT_EQ(script.requests().size(), 2U);

  for (const auto& [said, code] : {std::pair{"no", 2}, std::pair{"yes", 0}}) {
    FakeWorld person;
    person.world().terminal.ask = [answer = said](const std::string&) {
      return std::optional<std::string>(answer);
    };
    person.answers_in_turn({answer_with(sample_hosts()), answer_with(three_voters()), done()});
    EXPECT_EQ(person.run({"quorum", "remove", "b"}), code);
  }
  FakeWorld sure;
  sure.answers_in_turn({answer_with(sample_hosts()), done()});
  EXPECT_EQ(sure.run({"quorum", "remove", "b", "--yes"}), 0);
}

TEST(QuorumChange, WhereAVoterMayStillFailItDoesNotAsk) {
  agent::QuorumInfo four = three_voters();
  four.voters.push_back({host_id('d'), "d", 120, 10, "follower"});
  agent::QuorumInfo lame = three_voters();
  lame.tolerates = 0;             // It tolerates nothing as it is.
  agent::QuorumInfo five = four;  // b is the one that is gone: nothing is lost without it.
  five.voters.push_back({host_id('e'), "e", 120, 10, "follower"});
  five.voters[1].state = "unreachable";
  for (const agent::QuorumInfo& quorum : {four, lame, five}) {
    FakeWorld world;
    world.answers_in_turn({answer_with(sample_hosts()), answer_with(quorum), done()});
    EXPECT_EQ(world.run({"quorum", "remove", "b"}), 0) << world.err();
  }
}

TEST(QuorumChange, ATransferNeedsNoName) {
  FakeWorld world;
  world.answers(done());
  EXPECT_EQ(world.output_of({"quorum", "transfer"}),
            "the leadership was handed over: `muster quorum` shows the leader\n");
  EXPECT_TRUE(
      agent::decode_payload<agent::QuorumWish>(world.requests()[0].arguments)->host.is_zero());
  FakeWorld json;
  json.answers(done());
  EXPECT_EQ(json.output_of({"quorum", "transfer", "--json"}), "{\"leads\":null,\"detail\":null}\n");
  FakeWorld nameless;
  EXPECT_EQ(nameless.run({"quorum", "add"}), 2);
}

TEST(QuorumChange, RefusalsAndLostAnswersSayHowToGoOn) {
  FakeWorld unknown;
  unknown.answers(answer_with(sample_hosts()));
  EXPECT_EQ(unknown.run({"quorum", "add", "z"}), 6);
  FakeWorld busy;
  busy.answers_in_turn({answer_with(sample_hosts()), silence(),
                        refusal(ResponseStatus::kConflict, "another change is under way")});
  EXPECT_EQ(busy.run({"quorum", "remove", "b"}), 7);
  FakeWorld lost;
  lost.answers_in_turn({answer_with(sample_hosts()), silence(), silence(), silence()});
  EXPECT_EQ(lost.run({"quorum", "remove", "b"}), 75);
  EXPECT_NE(lost.err().find("repeat: muster quorum remove b"), std::string::npos) << lost.err();
}

TEST(Fence, HasHelpOfItsOwn) {
  FakeWorld world;
  EXPECT_NE(world.output_of({"hosts", "fence", "--help"}).find("Usage: muster hosts fence NAME"),
            std::string::npos);
  FakeWorld listing;
  listing.answers(answer_with(sample_hosts()));
  EXPECT_EQ(listing.run({"hosts"}), 0);
}

}  // namespace
}  // namespace muster::cli
