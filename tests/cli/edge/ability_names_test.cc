// People and agents call the abilities of hosts alike.

#include <gtest/gtest.h>

#include "agent/isolation/abilities.h"
#include "cli/kit/agent_verb.h"

namespace muster::cli {
namespace {

TEST(AbilityNames, AreThoseOfAgents) {
  agent::AbilitySet all;
  for (const std::string_view name : kAbilityNames) {
    const std::optional<agent::Ability> ability = agent::ability_named(name);
    ASSERT_TRUE(ability.has_value()) << name;
    all.add(*ability);
    EXPECT_EQ(agent::AbilitySet().add(*ability).labels().front(), ability_label(name));
  }
  EXPECT_EQ(all.labels().size(), agent::kAbilities.size());
}

}  // namespace
}  // namespace muster::cli
