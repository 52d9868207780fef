// Things that a parent left a process, played in children of the test: closed streams, ignored and
// blocked signals, descriptors, a file mask, and orphans.

#include "agent/edge/inheritance.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <functional>

namespace muster::agent {
namespace {

/// The exit status of a child that did `work`: how many of its expectations failed.
int failures_in_child(const std::function<int()>& work) {
  const pid_t child = fork();
  if (child == 0) {
    _exit(work());
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Inheritance, ClosedStreamsAreHeldAndStayErrors) {
  EXPECT_EQ(failures_in_child([] {
              close(0);
              close(1);
              close(2);
              int failures = hold_standard_streams() ? 0 : 1;
              const int next = open("/dev/null", O_RDWR);
              char byte = 0;
              failures += next > 2 ? 0 : 2;
              failures += read(0, &byte, 1) < 0 ? 0 : 4;
              failures += write(1, &byte, 1) < 0 && write(2, &byte, 1) < 0 ? 0 : 8;
              return failures;
            }),
            0);
}

TEST(Inheritance, OpenStreamsAreLeftAsTheyAre) {
  EXPECT_EQ(failures_in_child([] {
              struct stat before {};
              struct stat after {};
              fstat(1, &before);
              const bool is_good = hold_standard_streams() && mend_inheritance();
              fstat(1, &after);
              return is_good && before.st_ino == after.st_ino && before.st_dev == after.st_dev ? 0
                                                                                               : 1;
            }),
            0);
}

TEST(Inheritance, WhatStaysCanWriteToItsHeldStreams) {
  EXPECT_EQ(failures_in_child([] {
              close(0);
              close(2);
              int failures = hold_standard_streams() && mend_inheritance() ? 0 : 1;
              char byte = 0;
              failures += read(0, &byte, 1) == 0 ? 0 : 2;
              failures += write(2, &byte, 1) == 1 ? 0 : 4;
              return failures;
            }),
            0);
}

TEST(Inheritance, SignalsAreNeitherIgnoredNorBlockedButForTheTerminals) {
  EXPECT_EQ(failures_in_child([] {
              for (const int number : {SIGCHLD, SIGTERM, SIGUSR1, SIGHUP, SIGQUIT}) {
                signal(number, SIG_IGN);
              }
              sigset_t mask;
              sigfillset(&mask);
              sigprocmask(SIG_SETMASK, &mask, nullptr);
              int failures = mend_inheritance() ? 0 : 1;
              sigprocmask(SIG_SETMASK, nullptr, &mask);
              failures += sigisemptyset(&mask) != 0 ? 0 : 2;
              for (const int number : {SIGCHLD, SIGTERM, SIGUSR1}) {
                failures += signal(number, SIG_DFL) == SIG_DFL ? 0 : 4;
              }
              failures += signal(SIGHUP, SIG_DFL) == SIG_IGN ? 0 : 16;
              failures += signal(SIGQUIT, SIG_DFL) == SIG_IGN ? 0 : 32;
              return failures;
            }),
            0);
}

TEST(Inheritance, DescriptorsGoNoFurtherAndTheMaskShutsOthersOut) {
  EXPECT_EQ(failures_in_child([] {
              const int left = open("/dev/null", O_RDONLY);
              int failures = 0;
              const mode_t masks[][2] = {{0, 022}, {0777, 077}, {027, 027}};
              for (const auto& [before, after] : masks) {
                umask(before);
                failures += mend_inheritance() ? 0 : 1;
                failures += umask(0) == after ? 0 : 2;
              }
              return failures + (fcntl(left, F_GETFD) == FD_CLOEXEC ? 0 : 16);
            }),
            0);
}

TEST(Inheritance, OrphansThatComeToThisProcessAreReaped) {
  EXPECT_EQ(failures_in_child([] {
              prctl(PR_SET_CHILD_SUBREAPER, 1);
              int ends[2] = {-1, -1};
              if (pipe(ends) != 0) {
                return 1;
              }
              const pid_t child = fork();
              if (child == 0) {
                const pid_t orphan = fork();
                if (orphan == 0) {
                  _exit(0);
                }
                _exit(write(ends[1], &orphan, sizeof orphan) > 0 ? 0 : 1);
              }
              pid_t orphan = 0;
              siginfo_t ended{};
              if (read(ends[0], &orphan, sizeof orphan) != sizeof orphan ||
                  waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT) != 0 ||
                  waitid(P_PID, static_cast<id_t>(orphan), &ended, WEXITED | WNOWAIT) != 0) {
                return 2;
              }
              std::vector<pid_t> reaped = reap_orphans();
              std::vector<pid_t> expected = {child, orphan};
              std::ranges::sort(reaped);
              std::ranges::sort(expected);
              return reaped == expected && reap_orphans().empty() ? 0 : 4;
            }),
            0);
}

TEST(Inheritance, WhoIsNoParentOfOrphansWaitsForNobody) {
  EXPECT_EQ(failures_in_child([] {
              prctl(PR_SET_CHILD_SUBREAPER, 0);
              const pid_t child = fork();
              if (child == 0) {
                _exit(3);
              }
              siginfo_t ended{};
              waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT);
              const bool is_empty = reap_orphans().empty();
              int status = 0;
              return is_empty && waitpid(child, &status, 0) == child ? 0 : 1;
            }),
            0);
}

}  // namespace
}  // namespace muster::agent
