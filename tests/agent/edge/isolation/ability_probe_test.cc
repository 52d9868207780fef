// The agent tries the abilities of a host as its own user: here, as one without rights.

#include "agent/edge/isolation/ability_probe.h"

#include <grp.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>

#include "agent/edge/isolation/own_spaces.h"

namespace muster::agent {
namespace {

constexpr uid_t kPlainUser = 65534;

/// Whether `act` says so in a child, which is a user without rights.
bool as_plain_user(const std::function<bool()>& act) {
  const pid_t child = fork();
  if (child == 0) {
    const bool is_plain =
        geteuid() != 0 ||
        (setgroups(0, nullptr) == 0 && setresgid(kPlainUser, kPlainUser, kPlainUser) == 0 &&
         setresuid(kPlainUser, kPlainUser, kPlainUser) == 0 && prctl(PR_SET_DUMPABLE, 1) == 0);
    _exit(is_plain && act() ? 0 : 1);
  }
  int status = 1;
  return waitpid(child, &status, 0) == child && status == 0;
}

bool has_own_mounts() {
  if (!enter_own_processes(false).are_own) {
    return false;
  }
  const pid_t child = fork();
  if (child == 0) {
    _exit(enter_own_mounts() ? 0 : 1);
  }
  int status = 1;
  return waitpid(child, &status, 0) == child && status == 0;
}

TEST(AbilityProbe, AnAgentWithoutRightsMakesRoomsOfMounts) {
  if (!as_plain_user(has_own_mounts)) {
    GTEST_SKIP() << "namespaces of users without rights, or their /proc, are denied here";
  }
  char path[] = "/var/tmp/muster-probe-XXXXXX";
  const std::string data = mkdtemp(path);
  std::filesystem::permissions(data, std::filesystem::perms::all);
  EXPECT_TRUE(
      as_plain_user([&] { return probe_abilities(data, false).abilities.has(Ability::kMounts); }));
  std::filesystem::remove_all(data);
}

TEST(AbilityProbe, AGroupThatTakesNoProcessOfThisAgentIsNotUsed) {
  if (geteuid() != 0) {
    GTEST_SKIP() << "only root gives a control group away";
  }
  char path[] = "/var/tmp/muster-probe-XXXXXX";
  const std::string data = mkdtemp(path);
  std::filesystem::permissions(data, std::filesystem::perms::all);
  const std::string root = probe_abilities(data, true).group_root;
  if (root.empty()) {
    GTEST_SKIP() << "there are no control groups here";
  }
  ASSERT_EQ(chown(root.c_str(), kPlainUser, kPlainUser), 0);
  EXPECT_TRUE(as_plain_user([&] {
    const ProbedHost probed = probe_abilities(data, false);
    return probed.group_root.empty() && !probed.whys.empty() &&
           probed.whys.front() == "no process can be put into control group " + root;
  })) << "it runs outside of the group";
  EXPECT_TRUE(std::filesystem::is_directory(root));
  std::filesystem::remove(root);
  std::filesystem::remove_all(data);
}

}  // namespace
}  // namespace muster::agent
