#include "agent/edge/inheritance.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstring>
#include <string>

namespace muster::agent {
namespace {

constexpr char kNull[] = "/dev/null";
constexpr std::array kStreams = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO};
constexpr std::array kOfTheTerminal = {SIGHUP, SIGQUIT, SIGTSTP, SIGTTIN, SIGTTOU};
constexpr mode_t kNoOtherWriter = 022;
constexpr mode_t kOthers = 077;

/// As the kernel has it, whose first word is the handler; nothing in it is SIG_DFL.
struct KernelAction {
  std::uintptr_t handler = 0;
  std::array<std::uintptr_t, 7> rest{};
};
constexpr std::size_t kSetBytes = 8;  ///< Of a kernel's signal set.

Error no_null(int stream) {
  return {ErrorCode::kIo, "descriptor " + std::to_string(stream) + " is closed, and " + kNull +
                              " cannot take its place: " + std::strerror(errno) +
                              "; start it with standard streams, or make " + kNull};
}

bool serves(int stream) {
  const int mode = fcntl(stream, F_GETFL) & O_ACCMODE;
  return mode == O_RDWR || mode == (stream == STDIN_FILENO ? O_RDONLY : O_WRONLY);
}

Status mend_streams() {
  for (const int stream : kStreams) {
    if (serves(stream)) {
      continue;
    }
    const int null = open(kNull, O_RDWR | O_CLOEXEC);
    if (null < 0 || dup2(null, stream) != stream) {
      return no_null(stream);
    }
    close(null);
  }
  return ok();
}

void mend_signals() {
  for (int number = 1; number < NSIG; ++number) {
    KernelAction action;
    const bool is_ignored = syscall(SYS_rt_sigaction, number, nullptr, &action, kSetBytes) == 0 &&
                            action.handler == reinterpret_cast<std::uintptr_t>(SIG_IGN);
    if (is_ignored && std::ranges::count(kOfTheTerminal, number) == 0) {
      restore_signal(number);
    }
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

}  // namespace

Status hold_standard_streams() {
  for (const int stream : kStreams) {
    if (fcntl(stream, F_GETFD) >= 0 || errno != EBADF) {
      continue;
    }
    // The lower streams are open, so open() gives this one. The wrong way round on purpose.
    if (open(kNull, stream == STDIN_FILENO ? O_WRONLY : O_RDONLY) != stream) {
      return no_null(stream);
    }
  }
  return ok();
}

Status mend_inheritance() {
  if (const Status mended = mend_streams(); !mended) {
    return mended;
  }
  // Kernels before 5.11 do not know it; supervisors are started without these descriptors anyway.
  syscall(SYS_close_range, STDERR_FILENO + 1, UINT_MAX, CLOSE_RANGE_CLOEXEC);
  mend_signals();
  const mode_t before = umask(kOthers);
  umask((before | kNoOtherWriter) & kOthers);
  return ok();
}

void restore_signal(int number) {
  const KernelAction none;
  syscall(SYS_rt_sigaction, number, &none, nullptr, kSetBytes);
}

std::vector<pid_t> reap_orphans() {
  static const bool is_their_parent = [] {
    int is_subreaper = 0;
    prctl(PR_GET_CHILD_SUBREAPER, &is_subreaper);
    return getpid() == 1 || is_subreaper != 0;
  }();
  std::vector<pid_t> reaped;
  while (is_their_parent) {
    const pid_t pid = waitpid(-1, nullptr, WNOHANG);
    if (pid <= 0) {
      break;
    }
    reaped.push_back(pid);
  }
  return reaped;
}

}  // namespace muster::agent
