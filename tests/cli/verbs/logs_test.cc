// Output of ranks, piece by piece, followed, of several ranks, and of hosts that are gone.

#include <gtest/gtest.h>

#include "agent/api/jobs.h"
#include "agent/api/output.h"
#include "agent/api/payload.h"
#include "agent/api/request.h"
#include "tests/cli/kit/fake_world.h"
#include "tests/cli/kit/samples.h"

namespace muster::cli {
namespace {

using agent::ResponseStatus;

/// The files of the hosts, by rank. A rank is over unless it is growing.
class Cluster {
 public:
  explicit Cluster(FakeWorld& world) {
    world.answers([this](const agent::Request& request) { return answer(request); });
  }

  agent::JobDetail detail = sample_detail();
  std::vector<agent::JobDetail> later;  ///< The details that later questions find instead.
  std::map<std::uint64_t, std::string> files = {{0, "hello\nwor"}, {1, "from b\n"}};
  std::map<std::uint64_t, std::string> growth;  ///< Appended after the end was read once.
  std::set<std::uint64_t> lost;
  std::map<std::uint64_t, std::vector<agent::OutputMark>> marks;
  std::map<std::uint64_t, std::uint64_t> since;  ///< Where output that is young enough begins.
  std::size_t piece_bytes = 4;
  std::set<std::uint64_t> not_begun;  ///< Their host has no output of them.
  int silences = 0;  ///< Number of the next questions for output that are not answered.

 private:
  bool is_shown = false;
  Result<agent::Response> answer(const agent::Request& request) {
    if (request.verb == agent::Verb::kShow) {
      if (!later.empty() && is_shown) {
        detail = later.front();
        later.erase(later.begin());
      }
      is_shown = true;
      return answer_with(detail);
    }
    const auto query = *agent::decode_payload<agent::OutputQuery>(request.arguments);
    EXPECT_EQ(query.token, (Token{0, 41}));
    EXPECT_EQ(request.target, host_id(query.rank == 0 ? 'a' : 'b'));
    if (lost.contains(query.rank) || silences > 0) {
      silences -= silences > 0 ? 1 : 0;
      return refusal(ResponseStatus::kNoQuorum, "host b does not answer");
    }
    return not_begun.contains(query.rank)
               ? refusal(ResponseStatus::kNotFound, "host a has no output of that rank")
               : answer_with(piece(query));
  }

  agent::OutputChunk piece(const agent::OutputQuery& query) {
    std::string& file = files[query.rank];
    agent::OutputChunk chunk;
    chunk.size = file.size();
    chunk.begin = std::min(query.offset, chunk.size);
    if (query.since_ms > 0) {
      chunk.begin = std::max(chunk.begin, since[query.rank]);
    }
    chunk.bytes = file.substr(chunk.begin, piece_bytes);
    if (query.wants_marks) {
      chunk.marks = marks[query.rank];  // More than need be: of the whole file.
    }
    const bool is_at_end = chunk.begin >= chunk.size;
    chunk.ended = growth[query.rank].empty();
    if (is_at_end) {
      file += std::exchange(growth[query.rank], "");
    }
    return chunk;
  }
};

TEST(Logs, RankZeroByDefaultWholeAndUntouched) {
  FakeWorld world;
  Cluster cluster(world);
  cluster.files[0] = std::string("a\0\x1b[1m\xff no newline", 18);
  EXPECT_EQ(world.output_of({"logs", "17"}), cluster.files[0]);
}

TEST(Logs, OfAnotherRank) {
  FakeWorld world;
  Cluster cluster(world);
  EXPECT_EQ(world.output_of({"logs", "17", "--rank", "1"}), "from b\n");
}

TEST(Logs, AllRanksHaveTheirPrefixOnWholeLines) {
  FakeWorld world;
  Cluster cluster(world);
  EXPECT_EQ(world.output_of({"logs", "17", "--rank", "all"}), "[0] hello\n[1] from b\n[0] wor\n");
}

TEST(Logs, AProgressBarBehindAPrefixMovesWhileItIsFollowed) {
  FakeWorld world;
  Cluster cluster(world);
  cluster.piece_bytes = 100;
  cluster.detail.summary.state = "completed";
  cluster.files[0] = "\rstep 1\rstep 2\rst";
  cluster.growth[0] = "ep 3\r\ndone\n";
  EXPECT_EQ(world.output_of({"logs", "-f", "17", "-r", "all"}),
            "[0] step 2\n[1] from b\n[0] step 3\r\n[0] done\n");
}

TEST(Logs, ALineThatWasShownWhileItWasWrittenIsNotEndedTwice) {
  FakeWorld world;
  Cluster cluster(world);
  cluster.piece_bytes = 100;
  cluster.detail.summary.state = "completed";
  cluster.files[0] = "step 1\r";
  cluster.growth[0] = "\ndone\n";
  EXPECT_EQ(world.output_of({"logs", "-f", "17", "-r", "0-1"}),
            "[0] step 1\n[1] from b\n[0] done\n");
}

TEST(Logs, APrefixStandsBeforeEachStateOfAProgressBar) {
  FakeWorld world;
  Cluster cluster(world);
  cluster.files[0] = "1%\r2%\r\n3\r";
  EXPECT_EQ(world.output_of({"logs", "17", "-r", "0,1"}),
            "[0] 1%\r[0] 2%\r\n[1] from b\n[0] 3\r\n");
}

TEST(Logs, WithoutFollowStopsAtWhatIsThere) {
  FakeWorld world;
  Cluster cluster(world);
  cluster.growth[0] = "ld\n";
  EXPECT_EQ(world.output_of({"logs", "17"}), "hello\nwor");
}

TEST(Logs, ARankThatWroteNothingIsToldOf) {
  FakeWorld world;
  Cluster cluster(world);
  cluster.files[0].clear();
  EXPECT_EQ(world.output_of({"logs", "17"}), "");
  EXPECT_EQ(world.err(), "muster: rank 0 has written nothing yet: wait for it with -f\n");
  FakeWorld over;
  Cluster same(over);
  same.files[0].clear();
  same.detail.summary.state = "completed";
  EXPECT_EQ(over.output_of({"logs", "17"}), "");
  EXPECT_NE(over.err().find("rank 0 wrote nothing in attempt"), std::string::npos) << over.err();
}

TEST(Logs, FollowGoesOnUntilTheRankEnded) {
  FakeWorld world;
  Cluster cluster(world);
  cluster.detail.summary.state = "completed";
  cluster.growth[0] = "ld\n";
  EXPECT_EQ(world.output_of({"logs", "-f", "17"}), "hello\nworld\n");
  EXPECT_EQ(world.slept(), std::chrono::milliseconds(200));
}

TEST(Logs, FollowWaitsForTheFirstAttempt) {
  FakeWorld world;
  agent::JobDetail waiting = sample_detail();
  waiting.attempts.clear();
  waiting.summary.state = "queued";
  Cluster cluster(world);
  cluster.detail.summary.state = "completed";
  world.answers_in_turn({answer_with(waiting), answer_with(waiting)});
  EXPECT_EQ(world.output_of({"logs", "-f", "17"}), "hello\nwor");
}

TEST(Logs, FollowGoesOnWithTheNextAttemptAndSaysSo) {
  FakeWorld world;
  Cluster cluster(world);
  agent::JobDetail queued = cluster.detail;
  queued.summary.state = "queued";
  queued.summary.cause = "host b silent";
  agent::JobDetail again = cluster.detail;
  again.attempts.push_back(again.attempts.front());
  again.attempts.back().number = 2;
  agent::JobDetail over = again;
  over.summary.state = "completed";
  cluster.later = {cluster.detail, queued, queued, again, over};
  EXPECT_EQ(world.output_of({"logs", "-f", "17"}), "hello\nworhello\nwor");
  EXPECT_EQ(world.err(),
            "muster: attempt 1 is over and the job is queued (host b silent): "
            "waiting for the next attempt\nmuster: attempt 2 begins\n");
  EXPECT_EQ(world.slept(), std::chrono::milliseconds(600));
}

TEST(Logs, FollowOfAnAttemptEndsWithIt) {
  FakeWorld world;
  Cluster cluster(world);
  ASSERT_EQ(cluster.detail.summary.state, "running");
  EXPECT_EQ(world.output_of({"logs", "-f", "--attempt", "1", "17"}), "hello\nwor");
}

TEST(Logs, AnotherAttemptIsReadByItsToken) {
  FakeWorld world;
  Cluster cluster(world);
  agent::AttemptInfo later = cluster.detail.attempts[0];
  later.number = 2;
  later.token = Token{0, 99};
  cluster.detail.attempts.push_back(later);
  EXPECT_EQ(world.output_of({"logs", "17", "--attempt", "1"}), "hello\nwor");
}

TEST(Logs, OutputThatTheDiskDidNotTakeIsToldAndIsAFailure) {
  FakeWorld world;
  Cluster cluster(world);
  cluster.detail.attempts[0].members[0].ranks[0].lost_bytes = 11 << 20;
  EXPECT_EQ(world.run({"logs", "17"}), 1);
  EXPECT_EQ(world.out(), "hello\nwor");
  EXPECT_EQ(world.err(),
            "muster: rank 0 wrote 11 MiB more than the disk of host a took: that output is "
            "missing\n");
}

TEST(Logs, OfARankThatHasNotBegunNothingIsMissing) {
  FakeWorld world;
  Cluster cluster(world);
  cluster.not_begun = {0};
  cluster.detail.summary.state = "scheduled";
  for (const char* state : {"assigned", "ready", "running"}) {
    cluster.detail.attempts[0].members[0].ranks[0].state = state;
    EXPECT_EQ(world.run({"logs", "17"}), 0) << state;
    EXPECT_EQ(world.out(), "");
  }
  EXPECT_NE(world.err().find("rank 0 has written nothing yet: wait for it with -f"),
            std::string::npos)
      << world.err();
  cluster.detail.attempts[0].members[0].ranks[0].state = "finished";
  EXPECT_EQ(world.run({"logs", "17"}), 6) << "its host should have it";
}

TEST(Logs, ARankOfAHostThatIsNotReachableIsNoRankWithoutOutput) {
  FakeWorld world;
  Cluster cluster(world);
  cluster.not_begun = {1};  // Host a answers for host b.
  cluster.detail.attempts[0].members[1].ranks[0].state = "running";
  EXPECT_EQ(world.run({"logs", "17", "--rank", "1"}), 6);
  EXPECT_NE(world.err().find("output of rank 1 on host b is missing from byte 0 on: "),
            std::string::npos)
      << world.err();
}

TEST(Logs, OfALostHostSayHowManyBytesAreMissing) {
  FakeWorld world;
  Cluster cluster(world);
  cluster.lost = {1};
  cluster.detail.attempts[0].members[1].ranks[0].output_bytes = 4096;
  EXPECT_EQ(world.run({"logs", "17", "--rank", "1"}), 5);
  EXPECT_NE(world.err().find("is missing: 4096 of its 4096 bytes, from byte 0 on: "),
            std::string::npos)
      << world.err();
}

TEST(Logs, OfALostHostSaysWhatIsMissing) {
  FakeWorld world;
  Cluster cluster(world);
  cluster.lost = {1};
  EXPECT_EQ(world.run({"logs", "17", "--rank", "all"}), 5);
  EXPECT_EQ(world.out(), "[0] hello\n[0] wor\n");
  EXPECT_EQ(world.err(),
            "muster: output of rank 1 on host b is missing from byte 0 on: host b does not answer "
            "(the rank: lost, host silent)\n");
}

TEST(Logs, FollowGivesALostHostItsTime) {
  FakeWorld world;
  Cluster cluster(world);
  cluster.lost = {1};
  cluster.detail.summary.state = "failed";
  EXPECT_EQ(world.run({"logs", "17", "-f", "--rank", "1", "--timeout", "3s"}), 5);
  EXPECT_EQ(world.slept(), std::chrono::seconds(3));
}

TEST(Logs, FollowGoesOnWhenALostHostIsBack) {
  FakeWorld world;
  Cluster cluster(world);
  cluster.silences = 18;
  agent::JobDetail over = cluster.detail;
  over.summary.state = "completed";
  cluster.later = std::vector<agent::JobDetail>(20, cluster.detail);
  cluster.later.push_back(over);
  EXPECT_EQ(world.output_of({"logs", "17", "-f", "--rank", "1", "--timeout", "3s"}), "from b\n");
  EXPECT_EQ(world.err(),
            "muster: output of rank 1 on host b is missing from byte 0 on: host b does not answer "
            "(the rank: lost, host silent)\n"
            "muster: host b answers again: rank 1 goes on from byte 0\n");
}

TEST(Logs, FollowEndsWithTheJobThoughAHostStaysAway) {
  FakeWorld world;
  Cluster cluster(world);
  cluster.lost = {1};
  agent::JobDetail over = cluster.detail;
  over.summary.state = "failed";
  cluster.later = {cluster.detail, cluster.detail, over};
  EXPECT_EQ(world.run({"logs", "17", "-f", "--rank", "all", "--timeout", "3s"}), 5);
  EXPECT_EQ(world.out(), "[0] hello\n[0] wor\n");
  EXPECT_LT(world.requests().size(), 30U) << "what is out of reach is asked seldom";
}

TEST(Logs, FollowShowsEachAttemptThatCameMeanwhile) {
  FakeWorld world;
  Cluster cluster(world);
  agent::JobDetail over = cluster.detail;
  for (const std::uint64_t number : {3, 2}) {
    over.attempts.push_back(over.attempts.front());
    over.attempts.back().number = number;
  }
  over.summary.state = "completed";
  cluster.later = {over, over, over};
  EXPECT_EQ(world.output_of({"logs", "-f", "17"}), "hello\nworhello\nworhello\nwor");
  EXPECT_EQ(world.err(), "muster: attempt 2 begins\nmuster: attempt 3 begins\n");
}

TEST(Logs, FollowOfARankThatIsNotThereFailsAtOnce) {
  FakeWorld world;
  Cluster cluster(world);
  ASSERT_EQ(cluster.detail.summary.state, "running");
  EXPECT_EQ(world.run({"logs", "17", "-f", "--rank", "9"}), 6);
  EXPECT_EQ(world.requests().size(), 1U);
}

TEST(Logs, Json) {
  FakeWorld world;
  Cluster cluster(world);
  cluster.piece_bytes = 100;
  cluster.files[0] = "caf\xe9\n";
  EXPECT_EQ(world.output_of({"logs", "17", "--json"}),
            "{\"job_id\":17,\"attempt\":1,\"rank\":0,\"offset_bytes\":0,\"text\":\"caf\ufffd\\n\","
            "\"base64\":\"Y2Fm6Qo=\",\"stream\":null,\"unix_ms\":null,\"is_ended\":true}\n");
}

/// "one\n" and "two\n" to stdout, "BAD\n" between them and "END\n" behind them to stderr.
void write_both(Cluster& cluster) {
  cluster.files[0] = "one\nBAD\ntwo\nEND\n";
  cluster.marks[0] = {{0, 1000, agent::kStdout},
                      {4, 1500, agent::kStderr},
                      {8, 2000, agent::kStdout},
                      {12, 9000, agent::kStderr}};
}

std::string logs_of(const std::vector<std::string>& more, std::size_t piece_bytes = 4) {
  FakeWorld world;
  Cluster cluster(world);
  write_both(cluster);
  cluster.since[0] = 8;
  cluster.piece_bytes = piece_bytes;
  std::vector<std::string> args = {"logs", "17"};
  args.insert(args.end(), more.begin(), more.end());
  std::string out = world.output_of(args);
  EXPECT_EQ(world.err().find("rank 0:"), std::string::npos) << world.err();
  return out;
}

TEST(Logs, OneStreamAlone) {
  for (const std::size_t piece : {1U, 3U, 5U, 100U}) {
    EXPECT_EQ(logs_of({"--stderr"}, piece), "BAD\nEND\n");
    EXPECT_EQ(logs_of({"--stdout"}, piece), "one\ntwo\n");
    EXPECT_EQ(logs_of({"--stdout", "--stderr"}, piece), "one\nBAD\ntwo\nEND\n");
    EXPECT_EQ(logs_of({"--stderr", "--tail", "1"}, piece), "END\n");
    EXPECT_EQ(logs_of({"--stdout", "--tail", "1"}, piece), "two\n");
  }
  EXPECT_EQ(logs_of({"--stderr", "-r", "0,1"}, 100), "[0] BAD\n[0] END\n[1] from b\n");
}

TEST(Logs, WhatIsOfNeitherStreamIsShownAndSaid) {
  FakeWorld world;
  Cluster cluster(world);
  write_both(cluster);
  cluster.marks[0].back().stream = "";
  EXPECT_EQ(world.run({"logs", "17", "--stdout"}), 0);
  EXPECT_EQ(world.out(), "one\ntwo\nEND\n");
  EXPECT_NE(world.err().find("rank 0: from byte 12 on, the stream of each line is not known"),
            std::string::npos)
      << world.err();
}

TEST(Logs, SinceBeginsWhereTheHostSaysAndBoundsTheTail) {
  EXPECT_EQ(logs_of({"--since", "5m"}), "two\nEND\n");
  EXPECT_EQ(logs_of({"--since", "5m", "--tail", "9"}), "two\nEND\n");
  EXPECT_EQ(logs_of({"--since", "5m", "--tail", "1"}), "END\n");
  EXPECT_EQ(logs_of({"--since", "5m", "--stdout"}), "two\n");
  FakeWorld world;
  Cluster cluster(world);
  write_both(cluster);
  cluster.since[0] = 16;  // No output is young enough, but more comes.
  cluster.detail.summary.state = "completed";
  cluster.growth[0] = "new\n";
  EXPECT_EQ(world.output_of({"logs", "17", "--since", "5m", "-f"}), "new\n");
}

TEST(Logs, JsonJoinsACharacterThatTheOtherStreamCutInTwo) {
  for (const std::size_t piece : {1U, 2U, 100U}) {
    FakeWorld world;
    Cluster cluster(world);
    cluster.piece_bytes = piece;
    cluster.files[0] = "\xe2\x82!\xac.";
    cluster.marks[0] = {{0, 1000, agent::kStdout}, {2, 1000, agent::kStderr}, {3, 1000, "stdout"}};
    const std::string out = world.output_of({"logs", "17", "--json"});
    EXPECT_EQ(out.find("\ufffd"), std::string::npos) << out;
    EXPECT_NE(out.find("\"offset_bytes\":0,\"text\":\"\u20ac"), std::string::npos) << out;
  }
}

TEST(Logs, JsonNamesStreamAndTime) {
  FakeWorld world;
  Cluster cluster(world);
  cluster.piece_bytes = 100;
  cluster.files[0] = "a\xc3\xa4!";
  cluster.marks[0] = {{0, 1000, agent::kStdout}, {2, 2000, agent::kStdout}, {3, 2000, "stderr"}};
  const std::string out = world.output_of({"logs", "17", "--json"});
  EXPECT_NE(out.find("\"offset_bytes\":0,\"text\":\"a\",\"base64\":null,\"stream\":\"stdout\","
                     "\"unix_ms\":1000,"
                     "\"is_ended\":false}\n"),
            std::string::npos)
      << out;
  EXPECT_NE(
      out.find("\"offset_bytes\":1,\"text\":\"\u00e4\",\"base64\":null,\"stream\":\"stdout\""),
      std::string::npos)
      << out;
  EXPECT_NE(out.find("\"text\":\"!\",\"base64\":null,\"stream\":\"stderr\",\"unix_ms\":2000,\"is_"
                     "ended\":true"),
            std::string::npos)
      << out;
}

TEST(Logs, JsonNeverCutsACharacterInTwo) {
  FakeWorld world;
  Cluster cluster(world);
  cluster.files[0] = "abc\xc3\xa4";
  const std::string out = world.output_of({"logs", "17", "--json"});
  EXPECT_NE(out.find("\"text\":\"abc\""), std::string::npos) << out;
  EXPECT_NE(out.find("\"offset_bytes\":3,\"text\":\"\u00e4\""), std::string::npos) << out;
}

TEST(Logs, WhatIsNotThereIsNamed) {
  FakeWorld rank;
  Cluster first(rank);
  EXPECT_EQ(rank.run({"logs", "17", "--rank", "9"}), 6);
  EXPECT_EQ(rank.err(), "muster: attempt 1 of job 17 has no rank 9\n");
  FakeWorld attempt;
  Cluster second(attempt);
  EXPECT_EQ(attempt.run({"logs", "17", "--attempt", "3"}), 6);
  EXPECT_EQ(attempt.err(), "muster: job 17 has no attempt 3\n");
  FakeWorld never;
  Cluster third(never);
  third.detail.attempts.clear();
  third.detail.summary.state = "queued";
  EXPECT_EQ(never.run({"logs", "17"}), 6);
  EXPECT_NE(never.err().find("never started"), std::string::npos);
}

TEST(Logs, TheTailIsTheLastLinesAndSeveralRanksArePrefixed) {
  FakeWorld world;
  Cluster cluster(world);
  cluster.files = {{0, "one\ntwo\nthree\n"}, {1, "only"}};
  EXPECT_EQ(world.output_of({"logs", "17", "--tail", "2"}), "two\nthree\n");
  FakeWorld several;
  Cluster same(several);
  same.files = {{0, "one\ntwo\nthree\n"}, {1, "only"}};
  const std::string shown = several.output_of({"logs", "17", "--rank", "0-1", "--tail", "1"});
  EXPECT_NE(shown.find("[0] three\n"), std::string::npos) << shown;
  EXPECT_NE(shown.find("[1] only\n"), std::string::npos) << shown;
  EXPECT_EQ(shown.find("two"), std::string::npos) << shown;
  FakeWorld none;
  Cluster third(none);
  EXPECT_EQ(none.output_of({"logs", "17", "--tail", "0"}), "");
}

}  // namespace
}  // namespace muster::cli
