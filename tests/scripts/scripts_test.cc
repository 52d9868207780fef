// Every golden conversation, played and compared. The text of a failure is the diff to read; when
// the new conversation is right, `MUSTER_REWRITE=1 scripts_test` writes it.

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "tests/scripts/script.h"

namespace muster::scripts {
namespace {

constexpr std::uint64_t kSeed = 1;

std::vector<Story> all_stories() {
  std::vector<Story> all;
  for (const auto& chapter :
       {alive_stories, quorum_stories, gang_stories, failure_stories, agent_stories}) {
    for (Story& story : chapter()) {
      all.push_back(std::move(story));
    }
  }
  return all;
}

std::string path_of(const Story& story) {
  return std::string(MUSTER_SOURCE_DIR) + "/tests/scripts/golden/" + story.name + ".txt";
}

std::string golden_of(const Story& story) {
  std::ifstream file(path_of(story), std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class Conversation : public testing::TestWithParam<Story> {};

TEST_P(Conversation, IsTheGoldenOne) {
  const Story& story = GetParam();
  const std::unique_ptr<Script> script = story.play(kSeed);
  const std::string text = "# " + story.name + "\n# What happens: " + story.happens +
                           "\n# What must hold: " + story.holds + "\n\n" + script->text();
  if (std::getenv("MUSTER_REWRITE") != nullptr) {
    std::ofstream(path_of(story), std::ios::binary) << text;
  }
  EXPECT_EQ(golden_of(story), text);
  for (const std::string& failure : script->failures()) {
    ADD_FAILURE() << failure;
  }
}

INSTANTIATE_TEST_SUITE_P(Stories, Conversation, testing::ValuesIn(all_stories()),
                         [](const auto& which) { return which.param.name; });

}  // namespace
}  // namespace muster::scripts
