// The judge, on timelines written by hand, and one that was written out and read again.

#include "tests/sim/scenario/judge.h"

#include <gtest/gtest.h>

#include "tests/sim/scenario/parser.h"

namespace muster::sim::scenario {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class JudgeTest : public ::testing::Test {
 protected:
  JudgeTest() {
    for (std::uint32_t host = 0; host < 3; ++host) {
      drive(Duration(0), "up", {{"host", host_name(host)}});
    }
    drive(Duration(0), "whole", {});
  }
  void drive(Duration at, std::string name, std::map<std::string, std::string> fields) {
    timeline_.push_back({at, Told::kDriver, std::move(name), std::move(fields), false});
  }
  void act(Duration at, int line) { drive(at, "act", {{"line", std::to_string(line)}}); }
  void tell(Duration at, std::int32_t host, std::string name,
            std::map<std::string, std::string> fields) {
    timeline_.push_back({at, host, std::move(name), std::move(fields), false});
  }
  Judgement judge_with(const std::string& lines) {
    const auto scenario = parse(
        "f",
        "hosts 3\nlength 100s\nat 1s submit big 8\nat 10s cut h2 from rest\nat 20s heal\n" + lines);
    EXPECT_TRUE(scenario.has_value()) << (scenario ? "" : scenario.error().text);
    return judge(*scenario, timeline_);
  }
  std::string broken_of(const std::string& lines) {
    const Judgement judgement = judge_with(lines);
    return judgement.broken.empty() ? "" : judgement.broken[0].text;
  }

  Timeline timeline_;
};

TEST_F(JudgeTest, FiguresEndAtTheFirstMomentThatHolds) {
  act(seconds(10), 4);
  tell(seconds(12), 0, "unreachable", {{"host", "h2"}});
  tell(seconds(13), 1, "unreachable", {{"host", "h2"}});
  act(seconds(20), 5);
  tell(seconds(23), 0, "alive_again", {{"host", "h2"}});
  tell(seconds(24), 1, "alive_again", {{"host", "h2"}});
  const Judgement judgement = judge_with(
      "figure lost_s from cut until h2 unreachable on h0,h1 max 6s\n"
      "figure healed_s from heal until all alive max 3s\n"
      "figure never_s from heal until mode partial on all\n");
  ASSERT_EQ(judgement.figures.size(), 2U);
  EXPECT_DOUBLE_EQ(judgement.figures[0].seconds, 3.0);
  EXPECT_DOUBLE_EQ(judgement.figures[1].seconds, 4.0);
  ASSERT_EQ(judgement.broken.size(), 2U);
  EXPECT_EQ(judgement.broken[0].text,
            "figure healed_s from heal until all alive max 3s: it took 4.000 s");
  EXPECT_EQ(judgement.broken[1].line, 8);
}

TEST_F(JudgeTest, WhoIsDownNeitherSeesNorIsSeen) {
  drive(seconds(5), "down", {{"host", "h2"}});
  tell(seconds(6), 0, "unreachable", {{"host", "h2"}});
  act(seconds(10), 4);
  EXPECT_EQ(broken_of("figure a from cut until all alive max 0s"), "");
  drive(seconds(11), "up", {{"host", "h2"}});
  act(seconds(20), 5);
  EXPECT_NE(broken_of("figure a from heal until all alive"), "");
}

TEST_F(JudgeTest, WithinAndNeverLookAtHostsJobsAndFields) {
  act(seconds(10), 4);
  tell(milliseconds(12'500), 1, "storm_mode", {{"mode", "partial"}});
  tell(seconds(13), 1, "unreachable", {{"host", "h2"}});
  tell(seconds(14), 0, "job_stopping", {{"job", "big"}, {"cause", "host_lost"}});
  EXPECT_EQ(broken_of("within 3s of cut event unreachable about h2"), "");
  EXPECT_EQ(broken_of("within 2s of cut event unreachable about h2"),
            "within 2s of cut event unreachable about h2: not about h2");
  EXPECT_NE(broken_of("within 3s of cut event unreachable about h1,h2"), "");
  EXPECT_NE(broken_of("within 3s of cut event unreachable on h0"), "");
  EXPECT_EQ(broken_of("never event storm_mode mode=domain"), "");
  EXPECT_EQ(broken_of("never event storm_mode mode=partial after cut"),
            "never event storm_mode mode=partial after cut: at 12.500 s h1 said storm_mode "
            "mode=partial");
  EXPECT_NE(broken_of("never event job_stopping about big"), "");
  EXPECT_NE(broken_of("within 3s of heal event x"), "") << "that act was never played";
}

TEST_F(JudgeTest, JobsAreAsTheLogSaysNotAsTheLastOneTold) {
  act(seconds(1), 3);
  tell(seconds(2), 0, "job_started", {{"job", "big"}, {"index", "9"}});
  tell(seconds(3), 0, "job_ended", {{"job", "big"}, {"index", "12"}, {"state", "completed"}});
  tell(seconds(4), 1, "job_started", {{"job", "big"}, {"index", "9"}});
  EXPECT_EQ(broken_of("figure a from submit big until job big completed max 2s"), "");
}

TEST_F(JudgeTest, OutcomesDifferByWhatHappenedAndByWhen) {
  tell(seconds(12), 0, "unreachable", {{"host", "h2"}});
  tell(seconds(13), 0, "job_scheduled", {{"job", "big"}, {"token", "1.7"}});
  tell(seconds(14), 1, "job_scheduled", {{"job", "big"}, {"token", "1.7"}});
  tell(seconds(15), 0, "job_scheduled", {{"job", "big"}, {"token", "1.9"}});
  tell(seconds(16), 0, "storm_mode", {{"mode", "partial"}});
  tell(milliseconds(16'500), 0, "storm_mode", {{"mode", "partition_suspected"}});
  const Outcome outcome = judge_with("").outcome;
  EXPECT_EQ(outcome, (Outcome{{"verdict h2", seconds(12)},
                              {"placed anew big", seconds(15)},
                              {"mode partition_suspected", milliseconds(16'500)}}));
  EXPECT_TRUE(differences(outcome, outcome, seconds(2)).empty());
  Outcome other = outcome;
  other["verdict h2"] = seconds(15);
  other.erase("placed anew big");
  other["condemned h2"] = seconds(30);
  EXPECT_EQ(differences(outcome, other, seconds(2)).size(), 3U);
  EXPECT_EQ(differences(outcome, other, seconds(3)).size(), 2U);
}

TEST_F(JudgeTest, TimelinesAreTheSameOnceWrittenAndRead) {
  tell(milliseconds(12'345), 2, "unreachable", {{"host", "h1"}, {"detail", "7/10 \"quoted\""}});
  const Result<Timeline> read = from_lines(to_lines(timeline_));
  ASSERT_TRUE(read.has_value());
  ASSERT_EQ(read->size(), timeline_.size());
  EXPECT_EQ(read->back().at, milliseconds(12'345));
  EXPECT_EQ(read->back().fields, timeline_.back().fields);
  EXPECT_FALSE(from_lines("{\"t\": 1}\n").has_value());
  EXPECT_FALSE(from_lines("what").has_value());
}

}  // namespace
}  // namespace muster::sim::scenario
