// Where no PID namespace is, the processes of a grant are found by looking: children that left
// their session and orphans of a subreaper are among them, and nobody else is.

#include "agent/edge/ranks/grant_processes.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace muster::agent {
namespace {

/// A child that made a child of its own, in a session of its own; both wait for a signal.
struct Family {
  pid_t child = 0;
  pid_t grandchild = 0;
};

Family make_family(bool child_ends) {
  std::array<int, 2> ends{};
  EXPECT_EQ(pipe(ends.data()), 0);
  Family made;
  made.child = fork();
  if (made.child == 0) {
    const pid_t grandchild = fork();
    if (grandchild == 0) {
      setsid();
      const pid_t self = getpid();
      _exit(write(ends[1], &self, sizeof self) > 0 ? pause() : 1);
    }
    _exit(child_ends ? 0 : pause());
  }
  EXPECT_EQ(read(ends[0], &made.grandchild, sizeof made.grandchild),
            static_cast<ssize_t>(sizeof made.grandchild));
  close(ends[0]);
  close(ends[1]);
  return made;
}

bool has(const std::vector<pid_t>& all, pid_t pid) {
  return std::find(all.begin(), all.end(), pid) != all.end();
}

int signal_that_ended(pid_t pid) {
  int status = 0;
  EXPECT_EQ(waitpid(pid, &status, 0), pid);
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

TEST(GrantProcesses, DescendantsAreFoundInWhateverSession) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const Family whole = make_family(false);
  const Family orphan = make_family(true);
  ASSERT_EQ(waitpid(orphan.child, nullptr, 0), orphan.child);
  const std::vector<pid_t> found = descendants_of(getpid());
  EXPECT_TRUE(has(found, whole.child));
  EXPECT_TRUE(has(found, whole.grandchild));
  EXPECT_TRUE(has(found, orphan.grandchild));
  EXPECT_FALSE(has(found, getpid()));
  EXPECT_FALSE(has(found, getppid()));

  GrantProcesses(false).ask_to_end();
  for (const pid_t pid : {whole.child, whole.grandchild, orphan.grandchild}) {
    EXPECT_EQ(signal_that_ended(pid), SIGTERM);
  }
}

TEST(GrantProcesses, KillReachesWhatIgnoresTerm) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const auto before = signal(SIGTERM, SIG_IGN);
  const Family deaf = make_family(false);
  signal(SIGTERM, before);
  GrantProcesses(false).ask_to_end();
  GrantProcesses(false).kill();
  EXPECT_EQ(signal_that_ended(deaf.child), SIGKILL);
  EXPECT_EQ(signal_that_ended(deaf.grandchild), SIGKILL);
}

}  // namespace
}  // namespace muster::agent
