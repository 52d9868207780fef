#include "agent/edge/gpu/hooks.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "gossip/edge/boot_clock.h"

namespace muster::agent {
namespace {

class HooksTest : public testing::Test {
 protected:
  HooksTest() {
    char path[] = "/var/tmp/muster-hooks-XXXXXX";
    folder_ = mkdtemp(path);
    std::filesystem::create_directories(folder_ + "/health");
    std::filesystem::create_directories(folder_ + "/reset");
  }
  ~HooksTest() override { std::filesystem::remove_all(folder_); }

  void add(const std::string& name, const std::string& script, mode_t mode = 0755) const {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path) << "#!/bin/sh\n" << script << "\n";
    chmod(path.c_str(), mode);
  }
  /// The failure of the one result; "none" if there is no result within 20 s.
  std::string run(HookKind kind) {
    Hooks hooks(folder_);
    hooks.start(boot_now(), kind, "GPU-a", R"({"gpu":"GPU-a"})");
    return result_of(hooks, Duration(0));
  }
  /// With a clock that runs `ahead`.
  static std::string result_of(Hooks& hooks, Duration ahead) {
    const Instant end = boot_now() + std::chrono::seconds(20);
    while (boot_now() < end) {
      for (const Hooks::Result& result : hooks.take_results()) {
        EXPECT_EQ(result.subject, "GPU-a");
        return result.failure;
      }
      std::vector<pollfd> polled;
      for (const int fd : hooks.fds()) {
        polled.push_back({fd, POLLIN, 0});
      }
      poll(polled.data(), polled.size(), 50);
      for (const pollfd& one : polled) {
        if (one.revents != 0 && hooks.owns(one.fd)) {
          hooks.on_readable(boot_now(), one.fd);
        }
      }
      hooks.on_time(boot_now() + ahead);
    }
    return "none";
  }

  std::string folder_;
};

TEST_F(HooksTest, AllThatAgreeAreWell) {
  add("health/10-a", "exit 0");
  add("health/20-b", R"(read line; [ "$line" = '{"gpu":"GPU-a"}' ] && [ -z "$HOME" ])");
  EXPECT_EQ(run(HookKind::kHealth), "");
}

TEST_F(HooksTest, TheFirstThatDoesNotAgreeGivesTheReason) {
  add("health/10-a", "echo 'too hot'; echo more; exit 3");
  add("health/20-b", "echo never; exit 1");
  EXPECT_EQ(run(HookKind::kHealth), "hook 10-a: too hot");
  add("health/10-a", "exit 3");
  EXPECT_EQ(run(HookKind::kHealth), "hook 10-a: exit status 3");
  add("health/10-a", "kill -9 $$");
  EXPECT_EQ(run(HookKind::kHealth), "hook 10-a: signal 9");
}

TEST_F(HooksTest, AHangIsAFailureAndEndsWithItsChildren) {
  add("reset/10-a", "sleep 600 & wait");
  Hooks hooks(folder_);
  hooks.start(boot_now(), HookKind::kReset, "GPU-a", "{}");
  EXPECT_NE(hooks.next_deadline(), kNever);
  EXPECT_EQ(result_of(hooks, Hooks::kResetLimit), "hook 10-a did not end in time");
}

TEST_F(HooksTest, ProgramsOfAGrantHaveATimeForAllOfThem) {
  std::filesystem::create_directories(folder_ + "/prolog");
  add("prolog/10-a", "sleep 600");
  Hooks hooks(folder_);
  const Instant now = boot_now();
  hooks.start(now, HookKind::kProlog, "GPU-a", "{}");
  EXPECT_EQ(hooks.next_deadline(), now + Hooks::kGrantLimit);
  EXPECT_EQ(result_of(hooks, Hooks::kGrantLimit), "prolog 10-a did not end in time");
  hooks.start(now, HookKind::kProlog, "GPU-a", "{}");
  hooks.stop(HookKind::kProlog, "GPU-a");
  EXPECT_EQ(hooks.next_deadline(), kNever);
  EXPECT_TRUE(hooks.take_results().empty());
}

TEST_F(HooksTest, AProgramThatOthersMayWriteDoesNotRun) {
  add("reset/10-a", "exit 0", 0777);
  EXPECT_EQ(run(HookKind::kReset), "hook " + folder_ + "/reset/10-a: " + folder_ +
                                       "/reset/10-a may be written by others than its owner");
  add("reset/10-a", "exit 0");
  chmod((folder_ + "/reset").c_str(), 0775);
  EXPECT_NE(run(HookKind::kReset).find("/reset may be written by others"), std::string::npos);
  chmod((folder_ + "/reset").c_str(), 0755);
  EXPECT_EQ(run(HookKind::kReset), "");
  std::filesystem::remove(folder_ + "/reset/10-a");
  std::filesystem::create_symlink("/bin/true", folder_ + "/reset/10-a");
  EXPECT_NE(run(HookKind::kReset).find("is a symbolic link"), std::string::npos);
}

TEST_F(HooksTest, OtherNamesAreNoHooks) {
  add("health/README", "exit 1");
  add("health/10-plain-text", "exit 1", 0644);
  Hooks hooks(folder_);
  EXPECT_FALSE(hooks.has(HookKind::kHealth));
  EXPECT_FALSE(Hooks("/nonexistent").has(HookKind::kReset));
  EXPECT_EQ(run(HookKind::kHealth), "") << "all of no hooks agree";
}

TEST_F(HooksTest, FloodsAreCutAndBinaryIsMadePlain) {
  add("health/10-a", "printf 'a\\001b'; head -c 100000 /dev/zero | tr '\\0' x; exit 1");
  const std::string failure = run(HookKind::kHealth);
  EXPECT_TRUE(failure.starts_with("hook 10-a: a?bxxx")) << failure;
  EXPECT_LE(failure.size(), Hooks::kVerdictBytesMax + 20);
}

}  // namespace
}  // namespace muster::agent
