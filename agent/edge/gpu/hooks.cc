#include "agent/edge/gpu/hooks.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <filesystem>
#include <utility>

#include "agent/edge/grant/child_spawn.h"
#include "agent/edge/own_path.h"

namespace muster::agent {
namespace {

/// The first word of a failure. Users are told of prologs and epilogs.
std::string title_of(HookKind kind) {
  const bool is_of_grant = kind == HookKind::kProlog || kind == HookKind::kEpilog;
  return (is_of_grant ? std::string(word_of(kind)) : "hook") + " ";
}

Duration limit_of(HookKind kind) {
  switch (kind) {
    case HookKind::kHealth:
      return Hooks::kHealthLimit;
    case HookKind::kReset:
      return Hooks::kResetLimit;
    case HookKind::kProlog:
    case HookKind::kEpilog:
      break;
  }
  return Hooks::kGrantLimit;
}

std::string name_of(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

/// A group of its own, so that a hang is ended with all that it started. Negative: an errno.
int spawn_hook(const std::string& path, int stream) {
  ChildSpawn spawn;
  spawn.executable = path;
  spawn.arguments = {path};
  spawn.socket = stream;
  spawn.environment = {"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"};
  spawn.has_own_group = true;
  return spawn_child(spawn);
}

enum class End { kNotYet, kSeen, kUnknown };

/// kUnknown: somebody else in this process reaped it, as one does that is the parent of all.
End end_of(const Fd& process, int options, siginfo_t& how) {
  how = {};
  if (waitid(P_PIDFD, static_cast<id_t>(process.get()), &how, WEXITED | WNOHANG | options) != 0) {
    return End::kUnknown;
  }
  return how.si_pid == 0 ? End::kNotYet : End::kSeen;
}

/// KILL to all that the program started. Its number names its group until it is reaped.
void kill_all(const Fd& process, int pid) {
  siginfo_t how{};
  if (end_of(process, WNOWAIT, how) != End::kUnknown) {
    kill(-pid, SIGKILL);
  }
}

/// "" if nobody but root and the agent's user could have written it; else why it does not run.
std::string why_not_run(const std::string& program) {
  const std::filesystem::path path(program);
  for (const std::string& part :
       {program, path.parent_path().string(), path.parent_path().parent_path().string()}) {
    struct stat about {};
    if (lstat(part.c_str(), &about) != 0) {
      return program + ": " + errno_text(errno);
    }
    if (S_ISLNK(about.st_mode)) {
      return program + ": " + part + " is a symbolic link: put the thing itself there";
    }
    if ((about.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
      return program + ": " + part + " may be written by others than its owner";
    }
  }
  const Status own = check_own_path(program);
  return own ? "" : own.error().text;
}

/// One line of printable text.
std::string verdict_of(const std::string& said) {
  std::string line = said.substr(0, said.find('\n'));
  line.resize(std::min(line.size(), Hooks::kVerdictBytesMax));
  std::replace_if(
      line.begin(), line.end(), [](char letter) { return letter < ' ' || letter > '~'; }, '?');
  return line;
}

}  // namespace

std::string_view word_of(HookKind kind) {
  switch (kind) {
    case HookKind::kHealth:
      return "health";
    case HookKind::kReset:
      return "reset";
    case HookKind::kProlog:
      return "prolog";
    case HookKind::kEpilog:
      break;
  }
  return "epilog";
}

Hooks::~Hooks() {
  for (auto& [key, run] : runs_) {
    kill_all(run.process, run.pid);
  }
}

std::vector<std::string> Hooks::programs(HookKind kind) const {
  std::vector<std::string> found;
  std::error_code error;
  std::filesystem::directory_iterator entry(directory_ + "/" + std::string(word_of(kind)), error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    const bool is_numbered =
        name.size() > 3 && isdigit(name[0]) != 0 && isdigit(name[1]) != 0 && name[2] == '-';
    if (is_numbered && access(entry->path().c_str(), X_OK) == 0) {
      found.push_back(entry->path().string());
    }
  }
  std::sort(found.begin(), found.end());
  found.resize(std::min(found.size(), kHooksMax));
  return found;
}

void Hooks::start(Instant now, HookKind kind, const std::string& subject, std::string json) {
  const Key key{kind, subject};
  if (runs_.contains(key)) {
    return;
  }
  if (runs_.size() + dying_.size() >= kRunsMax) {
    results_.push_back({kind, subject, now, title_of(kind) + "did not run: too many run already"});
    return;
  }
  Run& run = runs_[key];
  run.json = std::move(json);
  run.began = now;
  const bool is_of_grant = kind == HookKind::kProlog || kind == HookKind::kEpilog;
  run.all_until = is_of_grant ? now + kGrantRunLimit : kNever;
  for (std::string& path : programs(kind)) {
    run.left.push_back(std::move(path));
  }
  next(now, key, run);
}

void Hooks::next(Instant now, const Key& key, Run& run) {
  if (run.left.empty()) {
    return end(key, "");
  }
  run.program = std::move(run.left.front());
  run.left.pop_front();
  run.said.clear();
  const std::string title = title_of(key.first);
  if (const std::string why = why_not_run(run.program); !why.empty()) {
    return end(key, title + why);
  }
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return end(key, title + run.program + ": no socket: " + errno_text(errno));
  }
  run.output = Fd(ends[0]);
  const Fd theirs(ends[1]);
  fcntl(run.output.get(), F_SETFL, O_NONBLOCK);
  const std::string line = run.json + "\n";  // Less than the buffer of a socket.
  static_cast<void>(send(run.output.get(), line.data(), line.size(), MSG_NOSIGNAL));
  shutdown(run.output.get(), SHUT_WR);
  const int pid = spawn_hook(run.program, theirs.get());
  run.pid = pid;
  run.process = pid > 0 ? Fd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))) : Fd();
  if (!run.process.is_open()) {
    const std::string why = errno_text(pid > 0 ? errno : -pid);
    if (pid > 0) {
      kill(-pid, SIGKILL);
      waitpid(pid, nullptr, 0);  // It has just begun.
    }
    return end(key, title + run.program + ": " + why);
  }
  run.until = std::min(now + limit_of(key.first), run.all_until);
}

std::vector<int> Hooks::fds() const {
  std::vector<int> fds;
  for (const auto& [key, run] : runs_) {
    if (run.output.is_open()) {
      fds.push_back(run.output.get());
    }
    fds.push_back(run.process.get());
  }
  for (const Fd& process : dying_) {
    fds.push_back(process.get());
  }
  return fds;
}

bool Hooks::owns(int fd) const {
  const std::vector<int> own = fds();
  return std::find(own.begin(), own.end(), fd) != own.end();
}

void Hooks::on_readable(Instant now, int fd) {
  const auto found = std::find_if(runs_.begin(), runs_.end(), [&](const auto& entry) {
    return entry.second.output.get() == fd || entry.second.process.get() == fd;
  });
  if (found == runs_.end()) {
    siginfo_t how{};
    std::erase_if(dying_, [&](const Fd& process) {
      return process.get() == fd && end_of(process, 0, how) != End::kNotYet;
    });
    return;
  }
  Run& run = found->second;
  std::array<char, 4096> bytes{};
  // A program that says more than its line goes on, and is not heard.
  for (int reads = 0; run.output.is_open() && reads < 16; ++reads) {
    const ssize_t size = read(run.output.get(), bytes.data(), bytes.size());
    if (size <= 0) {
      if (size == 0 || errno != EAGAIN) {
        run.output.reset();
      }
      break;
    }
    const std::size_t room = kVerdictBytesMax - std::min(run.said.size(), kVerdictBytesMax);
    run.said.append(bytes.data(), std::min(room, static_cast<std::size_t>(size)));
  }
  siginfo_t how{};
  const End seen = end_of(run.process, WNOWAIT, how);
  if (seen == End::kNotYet) {
    return;
  }
  kill_all(run.process, run.pid);
  siginfo_t again{};
  static_cast<void>(end_of(run.process, 0, again));
  run.process.reset();
  run.output.reset();
  const Key key = found->first;
  if (seen == End::kSeen && how.si_code == CLD_EXITED && how.si_status == 0) {
    return next(now, key, run);
  }
  const std::string verdict = verdict_of(run.said);
  const std::string way = seen == End::kUnknown ? "its exit status is not known"
                          : how.si_code == CLD_EXITED
                              ? "exit status " + std::to_string(how.si_status)
                              : "signal " + std::to_string(how.si_status);
  end(key, title_of(key.first) + name_of(run.program) + ": " + (verdict.empty() ? way : verdict));
}

void Hooks::on_time(Instant now) {
  std::vector<Key> late;
  for (const auto& [key, run] : runs_) {
    if (run.until <= now) {
      late.push_back(key);
    }
  }
  for (const Key& key : late) {
    Run& run = runs_.at(key);
    const std::string text = title_of(key.first) + name_of(run.program) + " did not end in time";
    abandon(run);
    end(key, text);
  }
}

void Hooks::abandon(Run& run) {
  kill_all(run.process, run.pid);
  dying_.push_back(std::move(run.process));
}

void Hooks::stop(HookKind kind, const std::string& subject) {
  const auto found = runs_.find({kind, subject});
  if (found != runs_.end()) {
    abandon(found->second);
    runs_.erase(found);
  }
}

Instant Hooks::next_deadline() const {
  Instant next = kNever;
  for (const auto& [key, run] : runs_) {
    next = std::min(next, run.until);
  }
  return next;
}

void Hooks::end(const Key& key, std::string failure) {
  const auto found = runs_.find(key);
  results_.push_back({key.first, key.second, found->second.began, std::move(failure)});
  runs_.erase(found);
}

std::vector<Hooks::Result> Hooks::take_results() {
  return std::exchange(results_, {});
}

}  // namespace muster::agent
