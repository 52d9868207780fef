// A conversation with an agent that ends under it, as one does that becomes a member.

#include "cli/kit/session.h"

#include <gtest/gtest.h>

#include "tests/cli/kit/fake_world.h"
#include "tests/cli/kit/samples.h"

namespace muster::cli {
namespace {

TEST(Session, AsksAgainWhenTheAgentEndedMeanwhileAndIsBackSoon) {
  FakeWorld world;
  world.returns_after = std::chrono::seconds(1);
  world.uses = sample_uses();
  world.answers_in_turn({cut(), answer_with(sample_hosts())});
  EXPECT_NE(world.output_of({"hosts"}).find("10.0.0.1:7450"), std::string::npos);
  EXPECT_EQ(world.requests().size(), 2U);
  EXPECT_GE(world.slept(), world.returns_after);
}

TEST(Session, SaysOfAnAgentThatDoesNotComeBackThatNobodyAnswers) {
  FakeWorld world;
  world.returns_after = std::chrono::seconds(60);
  world.answers_in_turn({cut()});
  EXPECT_EQ(world.run({"hosts"}), 1);
  EXPECT_NE(world.err().find("no agent answers"), std::string::npos) << world.err();
  EXPECT_LT(world.slept(), std::chrono::seconds(5));
}

}  // namespace
}  // namespace muster::cli
