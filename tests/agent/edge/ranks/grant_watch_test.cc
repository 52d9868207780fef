// The words of a control group about the end of a rank, as the kernel writes them, and the looks of
// a watch.

#include "agent/edge/ranks/grant_watch.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "gossip/edge/boot_clock.h"

namespace muster::agent {
namespace {

/// A control group that is a folder.
class GrantWatchTest : public testing::Test {
 protected:
  GrantWatchTest() {
    char path[] = "/tmp/muster-watch-XXXXXX";
    limits_.group = mkdtemp(path);
    limits_.memory_bytes = 64 << 20;
    limits_.processes = 100;
  }
  ~GrantWatchTest() override { std::filesystem::remove_all(limits_.group); }

  void say(const std::string& file, const std::string& text) const {
    std::ofstream(limits_.group + "/" + file) << text;
  }
  std::string why() { return GrantWatch(limits_, false).why_ended(boot_now()); }

  RoomLimits limits_;
};

TEST_F(GrantWatchTest, TheKernelsOwnKillIsTold) {
  say("memory.events", "low 0\nhigh 0\nmax 12\noom 1\noom_kill 3\noom_group_kill 1\n");
  say("memory.peak", "67108864\n");
  EXPECT_EQ(why(), "out of memory: 64M of 64M");
}

TEST_F(GrantWatchTest, AKillAtALimitThatWasOnlyNearIsNotOfMemory) {
  say("memory.events", "low 0\nhigh 0\nmax 12\noom 0\noom_kill 0\noom_group_kill 0\n");
  say("pids.events", "max 0\n");
  EXPECT_EQ(why(), "");
}

TEST_F(GrantWatchTest, AHostWithoutMemoryIsNotTheFaultOfTheGrant) {
  say("memory.events", "low 0\nhigh 0\nmax 0\noom 0\noom_kill 1\noom_group_kill 1\n");
  EXPECT_EQ(why(), kHostOutOfMemory);
}

TEST_F(GrantWatchTest, ARefusedForkIsTold) {
  say("memory.events", "oom_kill 0\n");
  say("pids.events", "max 7\n");
  EXPECT_EQ(why(), "too many processes: the limit is 100");
}

TEST_F(GrantWatchTest, ARefusedForkOfLongAgoIsNoCause) {
  limits_.memory_bytes = 0;
  GrantWatch watch(limits_, false);
  const Instant begin = boot_now();
  watch.begin(begin);
  say("pids.events", "max 7\n");
  EXPECT_FALSE(watch.must_end(begin));
  EXPECT_EQ(watch.why_ended(begin), "too many processes: the limit is 100");
  const Instant later = begin + RefusedForks::kRecent + std::chrono::milliseconds(1);
  EXPECT_EQ(watch.why_ended(later), "") << "a rank that failed then, too";
  say("pids.events", "max 8\n");
  EXPECT_EQ(watch.why_ended(later), "too many processes: the limit is 100");
}

TEST_F(GrantWatchTest, WithoutAFileItSaysNothing) {
  EXPECT_EQ(why(), "");
}

TEST_F(GrantWatchTest, TheProcessesAreKnownBeforeTheKernelKillsThem) {
  const pid_t child = fork();
  if (child == 0) {
    std::string memory(32 << 20, 'x');
    volatile char keep = memory[12345];
    static_cast<void>(keep);
    pause();
  }
  GrantWatch watch(limits_, false);
  say("memory.current", "67108000\n");
  const Instant begin = boot_now();
  watch.begin(begin);
  EXPECT_FALSE(watch.must_end(begin)) << "the kernel does it";
  EXPECT_GE(watch.next_look() - begin, GrantWatch::kPause);
  say("memory.events", "oom 1\noom_kill 1\n");
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_FALSE(watch.must_end(watch.next_look())) << "a look at those that it kills";
  const std::string text = watch.why_ended(boot_now());
  EXPECT_NE(text.find("[" + std::to_string(child) + "] "), std::string::npos) << text;
}

TEST_F(GrantWatchTest, WithoutALimitItNeverLooks) {
  GrantWatch watch(RoomLimits(), false);
  watch.begin(boot_now());
  EXPECT_EQ(watch.next_look(), kNever);
  EXPECT_FALSE(watch.must_end(boot_now()));
}

TEST_F(GrantWatchTest, OncePassedItSaysSoAtEachLook) {
  limits_.group.clear();
  limits_.processes = 1;
  limits_.are_processes_counted = true;
  pid_t children[2] = {fork(), 0};
  if (children[0] == 0) {
    pause();
  }
  children[1] = fork();
  if (children[1] == 0) {
    pause();
  }
  GrantWatch watch(limits_, false);
  const Instant begin = boot_now();
  watch.begin(begin);
  EXPECT_TRUE(watch.must_end(begin));
  EXPECT_FALSE(watch.must_end(begin)) << "not before the next look";
  EXPECT_TRUE(watch.must_end(watch.next_look()));
  EXPECT_TRUE(watch.why_ended(boot_now()).ends_with(" of 1")) << watch.why_ended(boot_now());
  for (const pid_t child : children) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
}

}  // namespace
}  // namespace muster::agent
