// A host that lacks what its settings demand is unfit, and says what it lacks.

#include "agent/edge/run/host_room.h"

#include <gtest/gtest.h>

namespace muster::agent {
namespace {

TEST(HostRoom, IsUnfitWithoutOneOfTheAbilitiesThatSettingsName) {
  AbilitySet held;
  held.add(Ability::kDevices).add(Ability::kMounts);
  EXPECT_EQ(why_unfit({}, held), "");
  EXPECT_EQ(why_unfit({"devices", "mounts"}, held), "");
  EXPECT_EQ(why_unfit({"memory", "devices", "pids"}, held),
            "isolation: it lacks memory, pids, which min_isolation names");
  EXPECT_EQ(why_unfit({"devices"}, AbilitySet()),
            "isolation: it lacks devices, which min_isolation names");
}

}  // namespace
}  // namespace muster::agent
