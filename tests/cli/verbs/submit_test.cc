// A submit happens once: one key through every try, and an exit code that never claims too much.

#include <gtest/gtest.h>

#include "agent/api/jobs.h"
#include "agent/api/payload.h"
#include "agent/api/queues.h"
#include "agent/api/request.h"
#include "tests/cli/kit/fake_world.h"
#include "tests/cli/kit/samples.h"

namespace muster::cli {
namespace {

constexpr char kA[] = "ipc:///a.sock";
constexpr char kB[] = "ipc:///b.sock";
constexpr char kC[] = "ipc:///c.sock";

using agent::ResponseStatus;

const std::string kFirstKey = std::string(31, 'a') + "0";

agent::Response accepted() {
  return answer_with(agent::JobRef{JobId(17)});
}

agent::SubmitArgs submitted(const FakeWorld& world, std::size_t index = 0) {
  const auto arguments =
      agent::decode_payload<agent::SubmitArgs>(world.requests().at(index).arguments);
  return arguments.value_or(agent::SubmitArgs{});
}

TEST(Submit, ADryRunTellsWhereAndSubmitsNothing) {
  agent::WhyInfo why;
  why.state = "queued";
  why.headline = "not submitted; it fits and starts now";
  why.wanted = 12;
  why.free = 24;
  why.places = {{"a", 8}, {"b", 4}};
  why.places_more = 2;
  FakeWorld world;
  world.answers(answer_with(why));
  EXPECT_EQ(world.output_of({"submit", "--dry-run", "--gpus", "12", "--", "train"}),
            R"(dry run: not submitted; it fits and starts now
gpus     12 wanted, 24 free, 0 lacking
places   a (8), b (4) and 2 more
)");
  ASSERT_EQ(world.requests().size(), 1U);
  EXPECT_EQ(world.requests()[0].verb, agent::Verb::kDryRun);
  EXPECT_EQ(submitted(world).spec.request.gpus, 12U);
  FakeWorld other;
  other.answers(answer_with(why));
  const std::string json =
      other.output_of({"submit", "--dry-run", "--json", "--gpus", "12", "--", "train"});
  EXPECT_TRUE(json.starts_with(R"({"job_id":null,"state":"queued",)")) << json;
  const std::string places = R"("places":[{"host":"a","units":8},{"host":"b","units":4}],)";
  EXPECT_NE(json.find(places + R"("places_more":2)"), std::string::npos) << json;
}

TEST(Submit, WhatAHostHasToHoldRanksToIsALabelOfIt) {
  FakeWorld world;
  world.answers(accepted());
  world.output_of({"submit", "--require", "memory,devices", "--require", "mounts", "--label",
                   "fast", "--", "train"});
  EXPECT_EQ(submitted(world).spec.request.labels,
            (std::vector<std::string>{"can-devices", "can-memory", "can-mounts", "fast"}));
}

TEST(Submit, SendsWhatWasAskedFor) {
  FakeWorld world;
  world.answers(accepted());
  EXPECT_EQ(world.output_of({"submit",
                             "--gpus",
                             "16",
                             "--gpu-type=H100",
                             "--retries",
                             "2",
                             "--priority",
                             "-5",
                             "--env",
                             "A=1",
                             "-e",
                             "B=x=y",
                             "--cwd",
                             "runs",
                             "--isolation",
                             "1h",
                             "--grace",
                             "30s",
                             "--patience",
                             "0",
                             "--on-lost-host",
                             "wait",
                             "--time-limit",
                             "2h",
                             "--",
                             "bin/train",
                             "--env",
                             "--",
                             "x"}),
            "job 17\n");
  scheduler::JobSpec wanted;
  wanted.name = "train";
  wanted.user = "ann";
  wanted.request.gpus = 16;
  wanted.request.gpu_types = {"H100"};
  wanted.command.argv = {"bin/train", "--env", "--", "x"};
  wanted.command.environment = {"A=1", "B=x=y", "HOME=/home/ann"};
  wanted.command.directory = "/home/ann/runs";
  wanted.priority = -5;
  wanted.retry.retries = 2;
  wanted.limits.hold = std::chrono::hours(1);
  wanted.limits.grace = std::chrono::seconds(30);
  wanted.limits.patience = Duration(0);
  wanted.retry.on_lost_host = scheduler::OnLostHost::kWait;
  wanted.limits.time_limit = std::chrono::hours(2);
  wanted.command.shell = {027, 4096, scheduler::SubmitShell::kNoLimit, 0};
  EXPECT_TRUE(submitted(world).spec == wanted);
  EXPECT_EQ(submitted(world).key, kFirstKey);
}

TEST(Submit, FromADirectoryThatIsGoneItIsRefused) {
  FakeWorld world;
  world.answers(accepted());
  world.world().shell.directory = [] {
    return Result<std::string>(Error{ErrorCode::kNotFound, "the working directory is gone"});
  };
  EXPECT_EQ(world.run({"submit", "--", "x"}), 2);
  EXPECT_NE(world.err().find("gone; cd to one that exists, or name one with --cwd"),
            std::string::npos)
      << world.err();
  EXPECT_EQ(world.run({"submit", "--cwd", "runs", "--", "x"}), 2);
  EXPECT_TRUE(world.requests().empty());
  EXPECT_EQ(world.run({"submit", "--cwd", "/data", "--", "x"}), 0);
  EXPECT_EQ(submitted(world).spec.command.directory, "/data");
}

TEST(Submit, KeepNeverStopsBySilence) {
  FakeWorld world;
  world.answers(accepted());
  world.output_of({"submit", "--isolation", "keep", "--", "x"});
  EXPECT_TRUE(submitted(world).spec.limits.keep_when_isolated);
}

TEST(Submit, ArraysAreRangesStepsAndLists) {
  const auto tasks = [](const std::string& text) {
    FakeWorld world;
    world.answers(accepted());
    world.output_of({"submit", "--array", text, "--", "x"});
    const auto array = submitted(world).spec.array;
    return scheduler::text_of(*array) + "%" + std::to_string(array->at_once);
  };
  EXPECT_EQ(tasks("0-999%50"), "0-999%50");
  EXPECT_EQ(tasks("0-9:2"), "0-8:2%0");
  EXPECT_EQ(tasks("1,3,5-7%2"), "1-5:2,6-7%2");
  EXPECT_EQ(tasks("7-9,1-2,8"), "1-2,7-9%0");
  EXPECT_EQ(tasks("3"), "3-3%0");
  EXPECT_EQ(tasks("5-10:18446744073709551615"), "5-5%0");
  for (const char* wrong :
       {"", "3-", "1:2", "0-9:0", "0-9%0", "1,,2", "9-3", "0-10000000", "0-1000000", "a"}) {
    FakeWorld world;
    EXPECT_EQ(world.run({"submit", "--array", wrong, "--", "x"}), 2) << wrong;
  }
}

TEST(Submit, HeldItSaysHowItGoesOn) {
  FakeWorld world;
  world.answers(accepted());
  EXPECT_EQ(world.output_of({"submit", "--hold", "--", "x"}), "job 17\n");
  EXPECT_EQ(world.err(), "muster: the job is held: `muster resume 17` queues it\n");
  EXPECT_TRUE(submitted(world).spec.is_held);
}

TEST(Submit, ANameMayHaveBlanksAndAFileAnyName) {
  FakeWorld world;
  world.answers(accepted());
  world.output_of({"submit", "--name", "third try, r\u00e9sum\u00e9", "--", "x"});
  EXPECT_EQ(submitted(world).spec.name, "third try, r\u00e9sum\u00e9");
  FakeWorld other;
  other.answers(accepted());
  other.output_of({"submit", "--", "./a\nb c"});
  EXPECT_EQ(submitted(other).spec.name, "a_b c");
}

TEST(Submit, ANameThatSteersATerminalIsKeptWithoutThatAndSaidSo) {
  FakeWorld world;
  world.answers(accepted());
  world.output_of({"submit", "--name", "x\nstate      failed\n", "--", "x"});
  EXPECT_EQ(submitted(world).spec.name, "x_state      failed");
  EXPECT_NE(world.err().find("the name is kept as 'x_state      failed'"), std::string::npos);
}

TEST(Submit, Json) {
  FakeWorld world;
  world.answers(accepted());
  EXPECT_EQ(world.output_of({"submit", "--json", "--", "x"}),
            R"({"job_id":17,"key":")" + kFirstKey + "\"}\n");
}

TEST(Submit, VerboseTellsTheKeyBeforeTheAnswer) {
  FakeWorld world;
  world.answers(accepted());
  world.output_of({"submit", "-v", "--", "x"});
  EXPECT_EQ(world.err(), "muster: key " + kFirstKey + "\n");
}

TEST(Submit, TriesAgainUnderTheSameKey) {
  FakeWorld world;
  world.answers_in_turn({silence(), refusal(ResponseStatus::kUnknown, "leader lost"), accepted()});
  EXPECT_EQ(world.output_of({"submit", "--", "x"}), "job 17\n");
  ASSERT_EQ(world.requests().size(), 3U);
  EXPECT_EQ(submitted(world, 2).key, kFirstKey);
}

TEST(Submit, ADeadNodeIsPassedOver) {
  FakeWorld world;
  world.dead = {kA, kB};
  world.answers(accepted());
  EXPECT_EQ(world.output_of({"submit", "--node", "/a.sock,/b.sock,/c.sock", "--", "x"}),
            "job 17\n");
  EXPECT_EQ(world.asked(), std::vector<std::string>{kC});
}

TEST(Submit, GoesOnThroughTheNextNodeUnderTheSameKey) {
  FakeWorld world;
  world.answers([&world](const agent::Request&) -> Result<agent::Response> {
    if (world.requests().size() == 1) {
      world.dead = {kA, kB};  // The asked node dies with the request in hand.
      return silence();
    }
    return accepted();
  });
  EXPECT_EQ(world.output_of({"submit", "--node", "/a.sock,/b.sock,/c.sock", "--", "x"}),
            "job 17\n");
  EXPECT_EQ(world.asked(), (std::vector<std::string>{kA, kC}));
  EXPECT_EQ(submitted(world, 0).key, submitted(world, 1).key);
  EXPECT_EQ(world.err(), "") << "the key is said when it is needed";
}

TEST(Submit, GoesOnToTheNextNameWhenAHostIsOutOfReach) {
  FakeWorld world;
  world.answers([](const agent::Request& request) {
    return request.node == "b" ? refusal(ResponseStatus::kNoQuorum, "host b is not reachable")
                               : accepted();
  });
  EXPECT_EQ(world.output_of({"submit", "--data-dir", "/d", "--node", "b,c", "--", "x"}),
            "job 17\n");
  EXPECT_EQ(world.addresses(), (std::vector<std::string>(2, "ipc:///d/agent.sock")));
  ASSERT_EQ(world.requests().size(), 2U);
  EXPECT_EQ(world.requests().at(1).node, "c");
}

TEST(Submit, ANodeWithoutAQuorumIsLeftForTheOthersForThePatience) {
  FakeWorld world;
  world.answers(refusal(ResponseStatus::kNoQuorum, "no leader"));
  EXPECT_EQ(world.run({"submit", "--node", "/a.sock,/b.sock,/c.sock", "--", "x"}), 5);
  const std::vector<std::string> asked = world.asked();
  ASSERT_GT(asked.size(), 6U);
  EXPECT_EQ((std::vector<std::string>{asked.begin(), asked.begin() + 4}),
            (std::vector<std::string>{kA, kB, kC, kA}));
  EXPECT_EQ(world.slept(), std::chrono::seconds(3));
}

TEST(Submit, AnElectionIsWaitedFor) {
  FakeWorld world;
  world.answers_in_turn({refusal(ResponseStatus::kNoQuorum, "no leader"),
                         refusal(ResponseStatus::kNoQuorum, "no leader"), accepted()});
  EXPECT_EQ(world.output_of({"submit", "--", "x"}), "job 17\n");
  EXPECT_EQ(submitted(world, 0).key, submitted(world, 2).key);
}

TEST(Submit, TriesAreBoundedHoweverManyNodesAreSilent) {
  FakeWorld world;
  world.answers([](const agent::Request&) { return silence(); });
  EXPECT_EQ(world.run({"submit", "--node", "/a.sock,/b.sock,/c.sock,/d.sock,/e.sock", "--timeout",
                       "7s", "--", "x"}),
            75);
  EXPECT_EQ(world.asked(), (std::vector<std::string>{kA, kB, kC}));
}

TEST(Submit, SaysWhoAsks) {
  FakeWorld world;
  world.answers(accepted());
  world.output_of({"submit", "--", "x"});
  EXPECT_EQ(world.requests().at(0).user, "ann");
}

TEST(Submit, NoQuorumAtAnyTimeIsSurelyNotAccepted) {
  FakeWorld world;
  world.answers(refusal(ResponseStatus::kNoQuorum, "no leader"));
  EXPECT_EQ(world.run({"submit", "--timeout", "1s", "--", "x"}), 5);
  EXPECT_EQ(world.slept(), std::chrono::milliseconds(800)) << "--timeout ends it, too";
  EXPECT_NE(world.err().find("surely not accepted: no leader"), std::string::npos);
}

TEST(Submit, NoQuorumAfterASilentTryIsUnknown) {
  FakeWorld world;
  world.answers_in_turn({silence()});
  world.answers(refusal(ResponseStatus::kNoQuorum, "no leader"));
  EXPECT_EQ(world.run({"submit", "--", "x"}), 75);
}

TEST(Submit, AnAddressThatCannotBeUsedSaysNothingAboutTheSilentTry) {
  FakeWorld world;
  world.unusable = {kB};
  world.answers([](const agent::Request&) { return silence(); });
  EXPECT_EQ(world.run({"submit", "--node", "/a.sock,/b.sock", "--timeout", "3100ms", "--", "x"}),
            75);
  EXPECT_EQ(world.asked(), std::vector<std::string>{kA});
  EXPECT_NE(world.err().find("repeat with: muster submit --key " + kFirstKey), std::string::npos);
}

TEST(Submit, AnAddressThatCannotBeUsedIsPassedOverAfterASilentTry) {
  FakeWorld world;
  world.unusable = {kB};
  world.answers_in_turn({silence(), accepted()});
  EXPECT_EQ(world.output_of({"submit", "--node", "/a.sock,/b.sock", "--", "x"}), "job 17\n");
  EXPECT_EQ(world.asked(), (std::vector<std::string>{kA, kA}));
}

TEST(Submit, ARefusalThatIsNotAboutTheKeySaysNothingAboutTheSilentTry) {
  FakeWorld world;
  world.answers_in_turn({silence()});
  world.answers(refusal(ResponseStatus::kUsage, "this node does not know that request"));
  EXPECT_EQ(world.run({"submit", "--", "x"}), 75);
}

TEST(Submit, ALeaderThatKnowsNoSuchKeyIsBelieved) {
  FakeWorld world;
  world.answers_in_turn({silence()});
  world.answers(refusal(ResponseStatus::kImpossible, "no host has 16 GPUs of type T4"));
  EXPECT_EQ(world.run({"submit", "--", "x"}), 3);
}

TEST(Submit, NothingIsSentToAnAddress) {
  for (const char* list :
       {"a:7450", "/a.sock,b:7450", "10.0.0.7", "::1", "[::1]:7450", "tcp://a:7450", ","}) {
    FakeWorld world;
    world.answers(accepted());
    EXPECT_EQ(world.run({"submit", "--node", list, "--", "x"}), 2) << list;
    EXPECT_TRUE(world.addresses().empty()) << list;
    EXPECT_NE(world.err().find("--node"), std::string::npos) << world.err();
  }
}

TEST(Submit, WhoMayNotAskThereIsDenied) {
  FakeWorld world;
  world.denied = {kA};
  EXPECT_EQ(world.run({"submit", "--node", "/a.sock", "--", "x"}), 4);
}

TEST(Submit, NobodyThereIsSurelyNotAccepted) {
  FakeWorld world;
  world.refuses_connections();
  EXPECT_EQ(world.run({"submit", "--", "x"}), 5);
}

TEST(Submit, UnknownPrintsTheLineToRepeat) {
  FakeWorld world;
  world.answers([](const agent::Request&) { return silence(); });
  EXPECT_EQ(world.run({"submit", "--timeout", "7s", "--name", "a b", "--", "sh", "-c", "echo $X"}),
            75);
  EXPECT_EQ(world.requests().size(), 3U);
  EXPECT_EQ(world.err(),
            "muster: the job may or may not have been accepted (no answer within 3000 ms); repeat "
            "with: muster submit --key " +
                kFirstKey +
                " --cwd /home/ann --env-none -e HOME=/home/ann --timeout 7s --name 'a b' -- sh -c "
                "'echo $X'\n");
}

TEST(Submit, ARepeatKeepsItsKey) {
  const std::string key = "0123456789abcdef0123456789abcdef";
  FakeWorld world;
  world.answers([](const agent::Request&) { return silence(); });
  EXPECT_EQ(world.run({"submit", "--key", key, "--timeout=1s", "--", "x", "--key", "y"}), 75);
  EXPECT_EQ(submitted(world).key, key);
  EXPECT_NE(
      world.err().find("muster submit --key " + key +
                       " --cwd /home/ann --env-none -e HOME=/home/ann --timeout=1s -- x --key y\n"),
      std::string::npos);
}

TEST(Submit, ARepeatKeepsItsDirectory) {
  FakeWorld world;
  world.answers([](const agent::Request&) { return silence(); });
  EXPECT_EQ(world.run({"submit", "--cwd", "runs", "--timeout=1s", "--cwd=again", "--", "x"}), 75);
  EXPECT_NE(
      world.err().find(" --cwd /home/ann/again --env-none -e HOME=/home/ann --timeout=1s -- x\n"),
      std::string::npos)
      << world.err();
}

TEST(Submit, ARefusalIsNotRepeated) {
  FakeWorld world;
  world.answers(refusal(ResponseStatus::kImpossible, "no host has 16 GPUs of type T4"));
  EXPECT_EQ(world.run({"submit", "--", "x"}), 3);
  EXPECT_EQ(world.requests().size(), 1U);
}

agent::Response in_state(const std::string& state, std::int64_t exit_code = 0) {
  agent::JobDetail detail;
  detail.summary = sample_job(17, state);
  detail.summary.exit_code = exit_code;
  return answer_with(detail);
}

struct End {
  std::string state;
  std::int64_t exit_code;
  int wanted;
};

TEST(SubmitWait, ExitsAsTheJobDid) {
  for (const End& end : {End{"completed", 0, 0}, End{"failed", 3, 3}, End{"failed", 137, 137},
                         End{"failed", 124, 124}, End{"cancelled", 0, 1}, End{"failed", 256, 1}}) {
    FakeWorld world;
    world.answers_in_turn(
        {accepted(), in_state("queued"), in_state("running"), in_state(end.state, end.exit_code)});
    EXPECT_EQ(world.run({"submit", "--wait", "--", "x"}), end.wanted);
    EXPECT_EQ(world.out(), "job 17\n");
    const std::string why = end.state == "completed" ? "" : " (" + end.state + ": all ranks ready)";
    EXPECT_EQ(world.err(), "job 17 queued\njob 17 running on a,b\njob 17 exited " +
                               std::to_string(end.wanted) + why + "\n");
  }
}

TEST(SubmitWait, SitsOutAnOutageOfTheNode) {
  FakeWorld world;
  world.answers_in_turn({accepted(), refusal(ResponseStatus::kNotFound, "no such job"),
                         in_state("running"), silence(),
                         refusal(ResponseStatus::kNoQuorum, "no leader"), in_state("failed", 4)});
  EXPECT_EQ(world.run({"submit", "--wait", "--json", "--", "x"}), 4);
  EXPECT_EQ(world.out(), R"({"job_id":17,"key":")" + kFirstKey +
                             R"(","state":"failed","cause":"all ranks ready","exit_code":4})"
                             "\n")
      << "one document";
  EXPECT_NE(world.err().find("job 17\n"), std::string::npos) << "for who ends it before";
}

TEST(SubmitWait, GivesUpAfterALongOutage) {
  FakeWorld world;
  world.answers_in_turn({accepted()});
  world.answers([](const agent::Request&) { return silence(); });
  EXPECT_EQ(world.run({"submit", "--wait", "--", "x"}), 75);
  EXPECT_NE(world.err().find("look with: muster show 17"), std::string::npos);
  EXPECT_LT(world.requests().size(), 100U);
}

TEST(Submit, ARefusalForALimitSaysInJsonWhenToRepeatIt) {
  agent::Response refused = refusal(ResponseStatus::kNoQuorum, "too many submits to queue a");
  refused.payload = agent::encode_payload(agent::RetryAfter{1500});
  FakeWorld world;
  world.answers(refused);
  EXPECT_EQ(world.run({"submit", "--json", "--", "x"}), 5);
  EXPECT_NE(world.out().find(R"("exit_code":5,"retry_after_ms":1500})"), std::string::npos)
      << world.out();
  FakeWorld other;
  other.answers(refusal(ResponseStatus::kDenied, "no"));
  EXPECT_EQ(other.run({"submit", "--json", "--", "x"}), 4);
  EXPECT_NE(other.out().find(R"("exit_code":4,"retry_after_ms":null})"), std::string::npos)
      << other.out();
}

}  // namespace
}  // namespace muster::cli
