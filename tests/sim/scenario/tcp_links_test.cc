// Whole clusters whose links behave as TCP does: a message of the time when a cable is out arrives
// when it is back, later and later, or ends the connection.

#include <gtest/gtest.h>

#include "tests/sim/scenario/judge.h"
#include "tests/sim/scenario/parser.h"
#include "tests/sim/scenario/player.h"

namespace muster::sim::scenario {
namespace {

/// How long after the heal the end of a gang is known whose ranks ended in the cut; 1000 = never.
double known_after_s(Duration user_timeout) {
  const auto scenario = parse("f",
                              "hosts 16\nlength 250s\nat 1s submit wide 100% for 30s hold 10m\n"
                              "at 10s cut half from rest\nat 100s heal\n"
                              "figure known from heal until job wide completed\n");
  PlayOptions options;
  options.user_timeout = user_timeout;
  const Judgement judgement = judge(*scenario, play(*scenario, options).timeline);
  return judgement.figures.empty() ? 1000 : judgement.figures[0].seconds;
}

TEST(TcpLinks, WithoutAUserTimeoutTheyOutlastACutForLong) {
  EXPECT_GT(known_after_s(Duration(0)), 10);
}

TEST(TcpLinks, WithOneTheEndOfAGangIsKnownSoonAfterTheHeal) {
  EXPECT_LT(known_after_s(std::chrono::seconds(5)), 5);
}

TEST(TcpLinks, TheSameSeedTellsTheSameTimeline) {
  const auto scenario = parse("f", "hosts 5\nlength 40s\nat 5s cut h4 from rest loss 50%\n");
  EXPECT_EQ(to_lines(play(*scenario, {}).timeline), to_lines(play(*scenario, {}).timeline));
}

}  // namespace
}  // namespace muster::sim::scenario
