// A limit counts as held only if passing it failed.

#include "agent/edge/isolation/limit_probe.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "agent/edge/isolation/ability_probe.h"

namespace muster::agent {
namespace {

TEST(LimitProbe, AFolderIsNoControlGroup) {
  char path[] = "/tmp/muster-probe-XXXXXX";
  const std::string root = mkdtemp(path);
  std::vector<std::string> whys;
  enable_controllers({root});
  EXPECT_EQ(probe_limits(root, whys), AbilitySet());
  EXPECT_EQ(whys, (std::vector<std::string>{"memory: no controller of memory",
                                            "cpu: no controllers of cpu and cpuset",
                                            "pids: no controller of pids"}));
  EXPECT_TRUE(std::filesystem::is_empty(root)) << "its groups are gone";
  std::filesystem::remove_all(root);
}

TEST(LimitProbe, AGroupWithProcessesInItGivesNothingToThoseBelow) {
  char path[] = "/tmp/muster-probe-XXXXXX";
  const std::string parent = mkdtemp(path);
  const auto say = [](const std::string& file, const char* text) { std::ofstream(file) << text; };
  const auto control_of = [&](const char* name, const char* processes) {
    const std::string group = parent + "/" + name;
    std::filesystem::create_directory(group);
    say(group + "/cgroup.type", "domain\n");
    say(group + "/cgroup.procs", processes);
    say(group + "/cgroup.subtree_control", "");
    enable_controllers({group});
    return std::filesystem::file_size(group + "/cgroup.subtree_control");
  };
  EXPECT_EQ(control_of("container", "1\n12\n"), 0U);
  EXPECT_GT(control_of("empty", ""), 0U);
  std::filesystem::remove_all(parent);
}

TEST(LimitProbe, EachAbilityOfThisHostIsThereOrItsLackIsExplained) {
  char path[] = "/var/tmp/muster-probe-XXXXXX";
  const std::string data = mkdtemp(path);
  const ProbedHost probed = probe_abilities(data, geteuid() == 0);
  std::size_t lacking = 0;
  for (const Ability ability : kAbilities) {
    lacking += probed.abilities.has(ability) ? 0U : 1U;
  }
  // Without any control group one sentence explains all that need one.
  EXPECT_TRUE(probed.group_root.empty() || probed.whys.size() == lacking) << probed.whys.size();
  EXPECT_EQ(lacking == 0, probed.whys.empty());
  std::filesystem::remove_all(data);
}

}  // namespace
}  // namespace muster::agent
