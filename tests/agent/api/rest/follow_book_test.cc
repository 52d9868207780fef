// FollowBook in virtual time: who is asked for what and when, and what each follower is told.

#include "agent/api/rest/follow_book.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "tests/agent/api/rest/follow_testing.h"

namespace muster::agent {
namespace {

using namespace std::chrono_literals;  // NOLINT: literals only.
using rest_testing::bytes_of_piece;
using rest_testing::FollowedEvent;
using rest_testing::FollowWorld;
using Names = std::vector<std::string>;

constexpr char kRankOutputPath[] = "/v1/jobs/7/ranks/0/output";

std::string bytes_told(FollowWorld& world, std::uint64_t follower) {
  std::string bytes;
  for (const FollowedEvent& event : world.lines.events(follower)) {
    bytes += event.name.empty() ? bytes_of_piece(event.data) : "";
  }
  return bytes;
}

TEST(FollowBook, OutputComesAsItIsWrittenAndEnds) {
  FollowWorld world;
  world.node.output = "one\n";
  const auto follower = world.follow(kRankOutputPath);
  EXPECT_TRUE(world.lines.lines[follower].is_open);
  EXPECT_EQ(world.lines.lines[follower].answer.content_type, "text/event-stream");
  EXPECT_EQ(field_of(world.lines.lines[follower].answer.fields, "cache-control"), "no-store");
  EXPECT_EQ(bytes_told(world, follower), "one\n");
  world.node.output += "two\n";
  world.pass(1s);
  EXPECT_EQ(bytes_told(world, follower), "one\ntwo\n");
  EXPECT_EQ(world.lines.events(follower).back().id, "8");
  world.node.is_ended = true;
  world.pass(1s);
  EXPECT_EQ(world.lines.names(follower), (Names{"", "", "end"}));
  EXPECT_EQ(world.lines.events(follower).back().id, "8");
  EXPECT_TRUE(world.lines.events(follower).back().data["is_ended"]);
  EXPECT_TRUE(world.lines.lines[follower].is_ended);
  EXPECT_EQ(world.book.followers(), 0U);
  EXPECT_EQ(world.book.topics(), 0U);
}

TEST(FollowBook, AnEndedOutputIsReadToItsEndAtOnce) {
  FollowWorld world;
  world.node.output = std::string(3 * kOutputBytesMax + 7, 'x');
  world.node.is_ended = true;
  const auto follower = world.follow(kRankOutputPath);
  EXPECT_EQ(bytes_told(world, follower), world.node.output);
  EXPECT_EQ(world.lines.names(follower).back(), "end");
}

TEST(FollowBook, ManyFollowersOfARankCostOneQuestion) {
  FollowWorld world;
  world.node.output = "x\n";
  for (int each = 0; each < 100; ++each) {
    world.follow(kRankOutputPath, {}, "", "line" + std::to_string(each % 2));
  }
  EXPECT_EQ(world.book.topics(), 1U);
  world.node.asked.clear();
  for (int second = 0; second < 10; ++second) {
    world.node.output += "x\n";
    world.pass(1s);
  }
  EXPECT_LE(world.node.asked[Verb::kOutput], 51) << "each 200 ms with news";
  EXPECT_GE(world.node.asked[Verb::kOutput], 10);
  EXPECT_EQ(bytes_told(world, 1), world.node.output);
  EXPECT_EQ(bytes_told(world, 100), world.node.output);
  world.pass(5s);
  world.node.asked.clear();
  world.pass(5s);
  EXPECT_LE(world.node.asked[Verb::kOutput], 6) << "a second apart without news";
}

TEST(FollowBook, TheFirstAnswerOfAFollowerIsToldToItAlone) {
  FollowWorld world;
  world.node.output = "one\n";
  const auto first = world.follow(kRankOutputPath);
  for (int each = 0; each < 10; ++each) {
    world.node.output += "more\n";
    const auto next = world.follow(kRankOutputPath);
    EXPECT_EQ(bytes_told(world, next), world.node.output);
  }
  EXPECT_EQ(bytes_told(world, first), "one\n") << "it hears at the pace of the topic";
  world.pass(1s);
  EXPECT_EQ(bytes_told(world, first), world.node.output);
  EXPECT_EQ(world.lines.names(first).size(), 2U) << "in one piece";
}

TEST(FollowBook, AnEndThatANewFollowerHearsFirstReachesTheOthersBehindTheirLastByte) {
  FollowWorld world;
  world.node.output = "one\n";
  const auto first = world.follow(kRankOutputPath);
  world.node.output += "two\n";
  world.node.is_ended = true;
  const auto second = world.follow(kRankOutputPath);
  EXPECT_EQ(bytes_told(world, second), world.node.output);
  EXPECT_EQ(world.lines.names(first), Names{""});
  world.pass(1s);
  EXPECT_EQ(bytes_told(world, first), world.node.output);
  EXPECT_EQ(world.lines.names(first), (Names{"", "", "end"}));
  EXPECT_EQ(world.lines.names(second), (Names{"", "end"}));
}

TEST(FollowBook, AChangeThatANewFollowerSeesFirstIsToldToTheOthersAtTheirPace) {
  FollowWorld world;
  const auto first = world.follow("/v1/jobs/7");
  world.node.state = "completed";
  const auto second = world.follow("/v1/jobs/7");
  EXPECT_EQ(world.lines.events(second).back().data["job"]["state"], "completed");
  EXPECT_EQ(world.lines.names(first), Names{""});
  world.pass(2s);
  EXPECT_EQ(world.lines.events(first).back().data["job"]["state"], "completed");
  EXPECT_EQ(world.lines.names(first).size(), 2U);
  EXPECT_EQ(world.lines.names(second).size(), 1U);
}

TEST(FollowBook, AnEventThatANewFollowerSeesFirstIsToldToTheOthersAtTheirPace) {
  FollowWorld world;
  world.node.sequences = {1, 2};
  const auto first = world.follow("/v1/events", {}, "1");
  world.node.sequences.push_back(3);
  const auto second = world.follow("/v1/events", {}, "1");
  EXPECT_EQ(world.lines.names(first).size(), 1U);
  EXPECT_EQ(world.lines.names(second).size(), 2U);
  world.pass(2s);
  EXPECT_EQ(world.lines.events(first).back().id, "3");
  EXPECT_EQ(world.lines.names(first).size(), 2U);
  EXPECT_EQ(world.lines.names(second).size(), 2U);
}

TEST(FollowBook, EachProofIsCheckedAloneAndARevokedOneIsDeniedWhileOthersGoOn) {
  FollowWorld world;
  const auto ada = world.follow(kRankOutputPath, {}, "", "ada");
  const auto bob = world.follow(kRankOutputPath, {}, "", "bob");
  world.node.lines_shown.clear();
  world.pass(31s);
  EXPECT_EQ(world.node.lines_shown, (std::set<std::string>{"ada", "bob"}));
  world.node.denied.insert("bob");
  world.pass(31s);
  EXPECT_EQ(world.lines.names(bob), Names{"denied"});
  EXPECT_TRUE(world.lines.lines[bob].is_ended);
  world.node.output = "secret\n";
  world.pass(2s);
  EXPECT_EQ(bytes_told(world, ada), "secret\n");
  EXPECT_EQ(bytes_told(world, bob), "");
  EXPECT_EQ(world.book.followers(), 1U);
}

TEST(FollowBook, NoByteGoesToAFollowerForWhoseProofItWasNotRead) {
  FollowWorld world;
  world.node.rank_state = "assigned";
  world.node.has_output = false;
  world.node.may_not_read.insert("eve");
  const auto ada = world.follow(kRankOutputPath, {}, "", "ada");
  const auto eve = world.follow(kRankOutputPath, {}, "", "eve");
  EXPECT_TRUE(world.lines.lines[eve].is_open) << "there is no output that she may not read";
  world.pass(1s);
  world.node.rank_state = "running";
  world.node.has_output = true;
  world.node.output = "secret\n";
  world.pass(2s);
  EXPECT_EQ(bytes_told(world, ada), "secret\n");
  world.pass(20s);
  EXPECT_EQ(bytes_told(world, ada), "secret\n");
  EXPECT_EQ(world.lines.names(eve), Names{"denied"});
  EXPECT_EQ(world.lines.lines[eve].text.find("secret"), std::string::npos);
  EXPECT_EQ(world.book.followers(), 1U);
}

TEST(FollowBook, AFirstQuestionThatIsRefusedIsAnAnswerWithoutEvents) {
  FollowWorld world;
  world.node.denied.insert("eve");
  const auto eve = world.follow(kRankOutputPath, {}, "", "eve");
  EXPECT_EQ(world.lines.lines[eve].status, 403);
  const auto rank = world.follow("/v1/jobs/7/ranks/1/output");
  EXPECT_EQ(world.lines.lines[rank].status, 404);
  const auto query = world.follow("/v1/jobs", {{"nonsense", "1"}});
  EXPECT_EQ(world.lines.lines[query].status, 400);
  const auto head = world.follow(kRankOutputPath, {}, "", "line", HttpMethod::kHead);
  EXPECT_EQ(world.lines.lines[head].status, 200);
  EXPECT_EQ(world.lines.lines[head].answer.content_type, "text/event-stream");
  EXPECT_FALSE(world.lines.lines[head].is_open);
  EXPECT_EQ(world.book.followers(), 0U);
}

TEST(FollowBook, OneFollowerTooManyIsRefusedAndToldWhichLimit) {
  FollowWorld world({2, 16});
  world.follow("/v1/jobs/7");
  world.follow("/v1/jobs/7");
  const auto third = world.follow("/v1/jobs/7");
  const HttpAnswer& answer = world.lines.lines[third].answer;
  EXPECT_EQ(answer.status, 429);
  EXPECT_EQ(field_of(answer.fields, "retry-after"), "10");
  EXPECT_NE(answer.body.find("`followers`"), std::string::npos);
  world.lines.lines[1].is_gone = true;
  world.pass(1s);
  EXPECT_TRUE(world.lines.lines[world.follow("/v1/jobs/7")].is_open);
}

TEST(FollowBook, ASlowFollowerIsToldExactlyWhatItLost) {
  FollowWorld world;
  const auto slow = world.follow(kRankOutputPath);
  const auto fast = world.follow(kRankOutputPath);
  world.lines.lines[slow].reads = false;
  for (int second = 0; second < 20; ++second) {
    world.node.output += std::string(64 * 1024, static_cast<char>('a' + second));
    world.pass(1s);
  }
  EXPECT_LE(world.lines.lines[slow].waiting, std::size_t{256} * 1024);
  world.lines.lines[slow].waiting = 0;
  world.lines.lines[slow].reads = true;
  world.pass(1s);
  world.node.output += "behind the gap";
  world.pass(1s);
  EXPECT_EQ(bytes_told(world, fast), world.node.output);
  std::uint64_t at = 0;
  int gaps = 0;
  for (const FollowedEvent& event : world.lines.events(slow)) {
    if (event.name == "gap") {
      ++gaps;
      EXPECT_EQ(event.data["from"], at);
      at = event.data["to"].get<std::uint64_t>();
    } else {
      EXPECT_EQ(event.data["offset_bytes"], at);
      const std::string bytes = bytes_of_piece(event.data);
      EXPECT_EQ(bytes, world.node.output.substr(at, bytes.size()));
      at += bytes.size();
    }
    EXPECT_EQ(event.id, std::to_string(at));
  }
  EXPECT_EQ(gaps, 1);
  EXPECT_EQ(at, world.node.output.size());
}

TEST(FollowBook, OldOutputIsReadAtThePaceOfTheFollowerAndLosesNothing) {
  FollowWorld world;
  world.node.output = std::string(2 << 20, 'x');
  const auto follower = world.follow(kRankOutputPath);
  world.lines.lines[follower].reads = false;
  for (int second = 0; second < 60; ++second) {
    world.pass(5s);
    world.lines.lines[follower].waiting = 0;
  }
  EXPECT_EQ(bytes_told(world, follower), world.node.output);
}

TEST(FollowBook, AJobWithoutAnAttemptIsWaitedForAndEachProofIsCheckedForItsOutput) {
  FollowWorld world;
  world.node.state = "queued";
  world.node.attempt = 0;
  const auto ada = world.follow(kRankOutputPath, {}, "", "ada");
  const auto bob = world.follow(kRankOutputPath, {}, "", "bob");
  EXPECT_TRUE(world.lines.lines[ada].is_open);
  world.pass(10s);
  EXPECT_EQ(world.lines.names(ada), Names{});
  world.node.state = "running";
  world.node.attempt = 1;
  world.node.output = "begun\n";
  world.pass(3s);
  EXPECT_EQ(bytes_told(world, ada), "begun\n");
  EXPECT_EQ(bytes_told(world, bob), "begun\n");
  EXPECT_EQ(world.book.topics(), 1U);
}

TEST(FollowBook, AJobIsToldWhenItChangedAndNotAgainToOneThatKnowsIt) {
  FollowWorld world;
  const auto follower = world.follow("/v1/jobs/7");
  world.pass(5s);
  ASSERT_EQ(world.lines.names(follower), Names{""}) << "its age alone is no change";
  world.node.state = "completed";
  world.pass(2s);
  const auto events = world.lines.events(follower);
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[1].data["job"]["state"], "completed");
  EXPECT_NE(events[0].id, events[1].id);
  const auto resumed = world.follow("/v1/jobs/7", {}, events[1].id);
  const auto outdated = world.follow("/v1/jobs/7", {}, events[0].id);
  world.pass(2s);
  EXPECT_EQ(world.lines.names(resumed), Names{});
  EXPECT_EQ(world.lines.names(outdated), Names{""});
}

TEST(FollowBook, AListIsAskedForOnceASecondForAllWithTheSameQuestion) {
  FollowWorld world;
  for (int each = 0; each < 20; ++each) {
    world.follow("/v1/jobs", {{"all", "1"}});
  }
  world.node.asked.clear();
  for (int step = 0; step < 20; ++step) {
    world.node.state = step % 2 == 0 ? "queued" : "running";
    world.pass(500ms);
  }
  EXPECT_LE(world.node.asked[Verb::kJobs], 11);
  EXPECT_LE(world.lines.events(20).size(), 12U);
}

TEST(FollowBook, EventsGoOnBehindTheLastOneAndLostOnesAreAGap) {
  FollowWorld world;
  world.node.sequences = {1, 2, 3};
  const auto fresh = world.follow("/v1/events");
  const auto resumed = world.follow("/v1/events", {}, "1");
  world.node.sequences.push_back(4);
  world.pass(2s);
  const auto ids = [&world](std::uint64_t follower) {
    Names found;
    for (const FollowedEvent& event : world.lines.events(follower)) {
      found.push_back(event.name + event.id);
    }
    return found;
  };
  EXPECT_EQ(ids(fresh), (Names{"4"}));
  EXPECT_EQ(ids(resumed), (Names{"2", "3", "4"}));
  world.node.events_dropped = 2;
  EXPECT_EQ(ids(world.follow("/v1/events", {}, "1")), (Names{"gap2", "3", "4"}));
}

TEST(FollowBook, SilenceOfTheClusterIsToldOnceAndItsEnd) {
  FollowWorld world;
  const auto follower = world.follow("/v1/jobs/7");
  world.node.fails = ResponseStatus::kNoQuorum;
  world.pass(30s);
  EXPECT_EQ(world.lines.names(follower), (Names{"", "stale"}));
  EXPECT_NE(world.lines.lines[follower].text.find("no quorum"), std::string::npos);
  world.node.fails = ResponseStatus::kOk;
  world.pass(10s);
  EXPECT_EQ(world.lines.names(follower), (Names{"", "stale", "fresh"}));
}

TEST(FollowBook, OutputThatIsGoneEndsWithAReason) {
  FollowWorld world;
  world.node.output = "x";
  const auto follower = world.follow(kRankOutputPath);
  world.node.has_output = false;
  world.pass(3s);
  EXPECT_EQ(world.lines.names(follower), Names{""}) << "the rank runs: its file may come";
  world.node.rank_state = "exited 0";
  world.pass(10s);
  EXPECT_EQ(world.lines.names(follower), (Names{"", "end"}));
}

TEST(FollowBook, AHeartbeatComesEveryFifteenSecondsAndASilentNodeIsGivenUp) {
  FollowWorld world;
  const auto follower = world.follow("/v1/jobs/7");
  world.is_silent = true;
  world.pass(61s);
  std::size_t beats = 0;
  const std::string& text = world.lines.lines[follower].text;
  for (std::size_t at = text.find("\n:\n\n"); at != std::string::npos;
       at = text.find("\n:\n\n", at + 1)) {
    ++beats;
  }
  EXPECT_EQ(beats, 4U);
  EXPECT_LE(world.book.asks(), 1U) << "one question a topic";
}

}  // namespace
}  // namespace muster::agent
