// What is said while a cable is out arrives when it is back, later and later, or ends the
// connection: whole clusters whose links behave as TCP does.

#include <gtest/gtest.h>

#include "tests/sim/scenario/judge.h"
#include "tests/sim/scenario/parser.h"
#include "tests/sim/scenario/player.h"

namespace muster::sim::scenario {
namespace {

/// Of a gang over both sides, submitted a second after the heal.
bool runs_within(Duration limit, Duration user_timeout) {
  const auto scenario = parse(
      "f",
      "hosts 16\nlength 250s\nat 10s cut half from rest\nat 100s heal\n"
      "at 101s submit wide 100% for 2s\nfigure runs from submit wide until job wide completed\n");
  PlayOptions options;
  options.user_timeout = user_timeout;
  const Judgement judgement = judge(*scenario, play(*scenario, options).timeline);
  EXPECT_EQ(judgement.figures.size(), 1U) << "it never ran";
  return !judgement.figures.empty() &&
         judgement.figures[0].seconds < static_cast<double>(to_ms(limit)) / 1000;
}

TEST(TcpLinks, WithoutAUserTimeoutTheyOutlastACutForLong) {
  EXPECT_FALSE(runs_within(std::chrono::seconds(10), Duration(0)));
}

TEST(TcpLinks, WithOneAGangOverBothSidesRunsSoonAfterTheHeal) {
  EXPECT_TRUE(runs_within(std::chrono::seconds(8), std::chrono::seconds(5)));
}

TEST(TcpLinks, TheSameSeedTellsTheSameTimeline) {
  const auto scenario = parse("f", "hosts 5\nlength 40s\nat 5s cut h4 from rest loss 50%\n");
  EXPECT_EQ(to_lines(play(*scenario, {}).timeline), to_lines(play(*scenario, {}).timeline));
}

}  // namespace
}  // namespace muster::sim::scenario
