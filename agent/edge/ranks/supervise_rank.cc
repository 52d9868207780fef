#include "agent/edge/ranks/supervise_rank.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <vector>

#include "agent/edge/inheritance.h"
#include "agent/edge/ranks/exec_failure.h"
#include "scheduler/protocol/codec.h"
#include "scheduler/protocol/host_fault.h"

namespace muster::agent {
namespace {

using scheduler::kHostFault;
using scheduler::RankResult;

constexpr int kCannotExecute = 126;  // As shells say it.
constexpr int kNotFound = 127;
/// Of a path, so that what is wrong with it still fits into the detail.
constexpr std::size_t kDirectoryBytesShown = 64;

enum class Stage : int { kOutput = 0, kUser = 1, kDirectory = 2, kExec = 3, kGroup = 4, kCpus = 5 };

/// Another host, or this one at another time, may well execute the same command.
bool is_shortage(int code) {
  return code == EAGAIN || code == ENOMEM || code == EMFILE || code == ENFILE || code == EIO;
}

/// The record that the child writes into the exec pipe, whole or not at all.
struct Failure {
  Stage stage = Stage::kExec;
  int code = 0;  ///< errno
  /// For kUser and kExec; ends with a zero.
  std::array<char, scheduler::kDetailBytesMax + 1> text{};
};
static_assert(sizeof(Failure) <= PIPE_BUF);

/// Where execvp looks when there is no PATH.
constexpr char kPathOfExec[] = "/bin:/usr/bin";

Failure failure_of_exec(const std::string& program, int code) {
  const char* const path = getenv("PATH");
  const ExecFailure found = exec_failure(program, path == nullptr ? kPathOfExec : path, code);
  Failure failure{Stage::kExec, found.code, {}};
  found.text.copy(failure.text.data(), failure.text.size() - 1);
  return failure;
}

/// Of a login name, so that what failed still fits into the detail.
constexpr std::size_t kUserBytesShown = 64;

Failure failure_of_user(const std::string& name, const DropFailure& found) {
  Failure failure{Stage::kUser, found.code, {}};
  const std::string text = "cannot become user " + end_of(name, kUserBytesShown) + ": " +
                           text_of(found.step) + ": " + errno_text(found.code);
  text.copy(failure.text.data(), failure.text.size() - 1);
  return failure;
}

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) {
    pointers.push_back(const_cast<char*>(text.c_str()));  // NOLINT: exec does not write.
  }
  pointers.push_back(nullptr);
  return pointers;
}

/// With all signals blocked since before the fork: a TERM that came meanwhile is not lost to the
/// supervisor's "ignore", and ends the rank here.
void restore_signals() {
  for (int number = 1; number < NSIG; ++number) {
    restore_signal(number);
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

/// Soft limits only, and never above what is hard here.
void set_limit(__rlimit_resource_t resource, std::uint64_t wanted) {
  rlimit limit{};
  if (getrlimit(resource, &limit) == 0) {
    limit.rlim_cur = wanted == scheduler::SubmitShell::kNoLimit
                         ? limit.rlim_max
                         : std::min<rlim_t>(wanted, limit.rlim_max);
    setrlimit(resource, &limit);
  }
}

void become_shell(const scheduler::SubmitShell& shell) {
  umask(static_cast<mode_t>(shell.umask));
  set_limit(RLIMIT_NOFILE, shell.open_files);
  set_limit(RLIMIT_STACK, shell.stack_bytes);
  set_limit(RLIMIT_CORE, shell.core_bytes);
}

bool redirect(const RankOutput& output) {
  const int input = open("/dev/null", O_RDONLY);
  return input >= 0 && dup2(input, 0) == 0 && dup2(output.write_end(Stream::kOut), 1) == 1 &&
         dup2(output.write_end(Stream::kErr), 2) == 2 && (input <= 2 || close(input) == 0);
}

struct Program {
  std::string directory;
  std::vector<char*> argv;
  std::vector<char*> environment;
  scheduler::SubmitShell shell;
};

/// A program opens /dev/stderr as a file: its pipes belong to the user that it becomes.
bool give_output(const std::optional<RankIdentity>& identity) {
  return !identity.has_value() || (fchown(STDOUT_FILENO, identity->uid, identity->gid) == 0 &&
                                   fchown(STDERR_FILENO, identity->uid, identity->gid) == 0);
}

/// Before it is its user: that one may not enter a group.
bool join(int group) {
  return group < 0 || write(group, "0", 1) == 1;
}

/// Each processor of the mask that the supervisor may not use is left out; one has to be left.
bool stay_on(const ProcessorMask& processors) {
  return processors.empty() ||
         syscall(SYS_sched_setaffinity, 0, processors.size() * sizeof(unsigned long),
                 processors.data()) == 0;
}

/// A change of the user forgets the request, and a parent that died before it sends no signal.
bool dies_with(pid_t supervisor) {
  return prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == supervisor;
}

/// In a user namespace of its own this process may do there what root may, until it executes: look
/// into its supervisor, too. Paths of a job are looked up without that.
bool look_as_user() {
  if (geteuid() == 0) {
    return true;  // The ranks of an agent that shares root.
  }
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> sets{};
  if (syscall(SYS_capget, &header, sets.data()) != 0) {
    return false;
  }
  for (__user_cap_data_struct& set : sets) {
    set.effective = 0;
  }
  return syscall(SYS_capset, &header, sets.data()) == 0;
}

/// From the directory of the grant, which "/proc/self/cwd" would lead to, to that of the job.
bool enter_directory(const std::string& directory) {
  return chdir("/") == 0 && chdir(directory.c_str()) == 0;
}

/// Execs the program. Returns only if that failed, or a step before it.
Failure try_to_become(Program& program, const RankOutput& output, const RankBirth& birth,
                      pid_t supervisor) {
  if (!redirect(output) || !give_output(birth.identity)) {
    return {Stage::kOutput, errno, {}};
  }
  if (!join(birth.group)) {
    return {Stage::kGroup, errno, {}};
  }
  if (!stay_on(birth.processors)) {
    return {Stage::kCpus, errno, {}};
  }
  if (birth.identity.has_value()) {
    if (const std::optional<DropFailure> failed = drop_to(*birth.identity, birth.calls)) {
      return failure_of_user(birth.identity->name, *failed);
    }
  }
  if (birth.dies_with_parent && !dies_with(supervisor)) {
    _exit(kCannotExecute);
  }
  if (!look_as_user()) {
    return failure_of_user("of the agent", {DropStep::kCapabilities, errno});
  }
  if (!enter_directory(program.directory)) {
    return {Stage::kDirectory, errno, {}};
  }
  become_shell(program.shell);
  environ = program.environment.data();
  execvp(program.argv[0], program.argv.data());
  return failure_of_exec(program.argv[0], errno);
}

/// Between fork and exec. Never returns.
[[noreturn]] void become(Program& program, const RankOutput& output, const RankBirth& birth,
                         pid_t supervisor, int pipe) {
  setsid();
  restore_signals();
  const Failure failure = try_to_become(program, output, birth, supervisor);
  const ssize_t ignored = write(pipe, &failure, sizeof failure);
  _exit(ignored > 0 ? kNotFound : kCannotExecute);
}

}  // namespace

ProcessorMask mask_of(const CpuList& cpus) {
  static constexpr std::uint32_t kBits = sizeof(unsigned long) * CHAR_BIT;
  ProcessorMask mask;
  for (const std::uint32_t cpu : cpus) {
    mask.resize(std::max<std::size_t>(mask.size(), cpu / kBits + 1));
    mask[cpu / kBits] |= 1UL << (cpu % kBits);
  }
  return mask;
}

void SupervisedRank::start(const RankPlan& plan, const LaunchOrder& order, const RankBirth& birth) {
  result_.rank = plan.rank;
  const std::string name = "rank-" + std::to_string(plan.rank);
  log_ = name + ".log";
  directory_ = order.directory.empty() ? "/" : order.directory;
  std::vector<std::string> variables = order.environment;
  variables.insert(variables.end(), plan.environment.begin(), plan.environment.end());
  if (birth.identity.has_value()) {
    variables = environment_of(*birth.identity, variables);
  }
  Program program{directory_, pointers_to(order.argv), pointers_to(variables), order.shell};
  if (order.argv.empty()) {
    end(RankResult::Kind::kNotStarted, kCannotExecute, "no command");
    return;
  }
  int ends[2] = {-1, -1};
  if (const Status opened = output_.open(name); !opened) {
    end(RankResult::Kind::kNotStarted, kHostFault, opened.error().text);
    return;
  }
  if (pipe2(ends, O_CLOEXEC) != 0) {
    end(RankResult::Kind::kNotStarted, kHostFault, "pipe: " + errno_text(errno));
    return;
  }
  exec_pipe_ = Fd(ends[0]);
  const Fd write_end(ends[1]);
  const pid_t supervisor = getpid();
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);
  pid_ = fork();
  if (pid_ == 0) {
    become(program, output_, birth, supervisor, write_end.get());
  }
  const int fork_error = errno;
  sigprocmask(SIG_SETMASK, &before, nullptr);
  output_.close_write_ends();
  if (pid_ < 0) {
    pid_ = 0;
    exec_pipe_.reset();
    end(RankResult::Kind::kNotStarted, kHostFault, "fork: " + errno_text(fork_error));
  }
}

void SupervisedRank::explain(const std::string& why) {
  result_.detail = result_.detail.empty() ? why : result_.detail;
}

void SupervisedRank::mark_lost(const std::string& why) {
  lost_because_ = why;
}

void SupervisedRank::on_exec_decided() {
  Failure failure;
  const ssize_t count = read(exec_pipe_.get(), &failure, sizeof failure);
  exec_pipe_.reset();
  if (count != static_cast<ssize_t>(sizeof failure)) {
    return;
  }
  const bool is_hosts = failure.stage == Stage::kOutput || failure.stage == Stage::kUser ||
                        failure.stage == Stage::kGroup || failure.stage == Stage::kCpus ||
                        is_shortage(failure.code);
  const bool is_absent = failure.stage == Stage::kExec && failure.code == ENOENT;
  const int code = is_hosts ? kHostFault : is_absent ? kNotFound : kCannotExecute;
  switch (failure.stage) {
    case Stage::kOutput:
      end(RankResult::Kind::kNotStarted, code, log_ + ": " + errno_text(failure.code));
      return;
    case Stage::kGroup:
      end(RankResult::Kind::kNotStarted, code,
          "enter the control group: " + errno_text(failure.code));
      return;
    case Stage::kCpus:
      end(RankResult::Kind::kNotStarted, code,
          "stay on its processors: " + errno_text(failure.code));
      return;
    case Stage::kDirectory:
      end(RankResult::Kind::kNotStarted, code,
          "working directory " + end_of(directory_, kDirectoryBytesShown) + ": " +
              errno_text(failure.code));
      return;
    case Stage::kUser:
    case Stage::kExec:
      end(RankResult::Kind::kNotStarted, code, failure.text.data());
      return;
  }
}

void SupervisedRank::on_exit(int status) {
  if (exec_pipe_.is_open()) {
    on_exec_decided();
  }
  if (has_ended_) {
    return;
  }
  if (WIFSIGNALED(status)) {
    end(RankResult::Kind::kSignalled, WTERMSIG(status), "");
  } else {
    end(RankResult::Kind::kExited, WEXITSTATUS(status), "");
  }
}

void SupervisedRank::end(RankResult::Kind kind, int code, const std::string& detail) {
  has_ended_ = true;
  result_.kind = lost_because_.has_value() ? RankResult::Kind::kLost : kind;
  result_.code = lost_because_.has_value() ? 0 : code;
  result_.detail = lost_because_.value_or(detail);
  output_.close_write_ends();
  output_.copy();
  measure_output();
}

void SupervisedRank::measure_output() {
  result_.output_bytes = output_.size();
  result_.lost_bytes = output_.lost_bytes();
  result_.surplus_bytes = output_.surplus_bytes();
}

void SupervisedRank::finish_output() {
  output_.finish();
  measure_output();
}

}  // namespace muster::agent
