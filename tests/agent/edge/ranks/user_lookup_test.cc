// Logins of this host, asked for in a child: known, unknown, and services that hang or crash.

#include "agent/edge/ranks/user_lookup.h"

#include <gtest/gtest.h>
#include <pwd.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>

namespace muster::agent {
namespace {

constexpr Duration kLong = std::chrono::seconds(20);

Result<std::optional<RankIdentity>> hangs(const std::string& /*name*/) {
  while (true) {
    pause();
  }
}
Result<std::optional<RankIdentity>> crashes(const std::string& /*name*/) {
  _exit(3);
}
Result<std::optional<RankIdentity>> fails(const std::string& /*name*/) {
  return Error{ErrorCode::kIo, "no server answers"};
}
Result<std::optional<RankIdentity>> has_many_groups(const std::string& name) {
  RankIdentity identity{name, 1000, 1000, std::vector<std::uint32_t>(5000), "/h", "/s"};
  for (std::uint32_t i = 0; i < identity.groups.size(); ++i) {
    identity.groups[i] = UINT32_MAX - 1 - i;
  }
  return std::optional(std::move(identity));
}

TEST(UserLookup, KnowsTheUserOfThisProcess) {
  const passwd* const own = getpwuid(geteuid());
  if (own == nullptr) {
    GTEST_SKIP() << "this process runs as a uid without a name";
  }
  const std::string name = own->pw_name;
  const std::string home = own->pw_dir;
  const gid_t gid = own->pw_gid;
  const Result<RankIdentity> found = look_up(name, kLong);
  ASSERT_TRUE(found) << found.error().text;
  EXPECT_EQ(found->name, name);
  EXPECT_EQ(found->uid, geteuid());
  EXPECT_EQ(found->gid, gid);
  EXPECT_EQ(found->home, home);
  EXPECT_NE(std::find(found->groups.begin(), found->groups.end(), gid), found->groups.end());
}

TEST(UserLookup, SaysThatALoginIsUnknown) {
  const Result<RankIdentity> found = look_up("no-such-login", kLong);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(found.error().text, "user no-such-login is unknown on this host");
}

TEST(UserLookup, AServiceThatFailsHangsOrCrashesIsNoUnknownLogin) {
  const struct {
    LoginSource source;
    Duration patience;
    std::string why;
  } cases[] = {
      {hangs, std::chrono::milliseconds(10), "the name service did not answer within 10 ms"},
      {crashes, kLong, "the name service crashed"},
      {fails, kLong, "no server answers"},
  };
  for (const auto& one : cases) {
    const Result<RankIdentity> found = look_up("anna", one.patience, one.source);
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code, ErrorCode::kIo);
    EXPECT_EQ(found.error().text, "user anna cannot be looked up on this host: " + one.why);
  }
  int status = 0;
  while (waitpid(-1, &status, 0) > 0) {
    EXPECT_TRUE(WIFSIGNALED(status)) << "only the one that hung was left";
  }
  EXPECT_EQ(errno, ECHILD);
}

/// On a host of its own: files alone answer, and the one of groups cannot be read. 0 if `name` is
/// not known there for that reason, 2 if this machine cannot be such a host.
int look_up_without_groups(const std::string& name, const std::string& services) {
  const bool is_host =
      unshare(CLONE_NEWNS) == 0 &&
      mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
      mount(services.c_str(), "/etc/nsswitch.conf", nullptr, MS_BIND, nullptr) == 0;
  if (!is_host || !host_login(name) ||
      mount("/proc/self/mem", "/etc/group", nullptr, MS_BIND, nullptr) != 0) {
    return 2;
  }
  const Result<RankIdentity> found = look_up(name, kLong);
  return !found && found.error().code == ErrorCode::kIo ? 0 : 1;
}

TEST(UserLookup, GroupsThatCannotBeReadAreNotLeftOut) {
  if (geteuid() != 0) {
    GTEST_SKIP() << "needs root: cannot mount a file of its own";
  }
  const std::string services = ::testing::TempDir() + "/nsswitch." + std::to_string(getpid());
  std::ofstream(services) << "passwd: files\ngroup: files\n";
  const pid_t child = fork();
  if (child == 0) {
    _exit(look_up_without_groups("root", services));
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  unlink(services.c_str());
  if (WEXITSTATUS(status) == 2) {
    GTEST_SKIP() << "mount namespaces are denied here";
  }
  EXPECT_EQ(status, 0);
}

TEST(UserLookup, BringsThousandsOfGroups) {
  const Result<RankIdentity> found = look_up("anna", kLong, has_many_groups);
  ASSERT_TRUE(found) << found.error().text;
  EXPECT_EQ(*found, *has_many_groups("anna").value());
}

}  // namespace
}  // namespace muster::agent
