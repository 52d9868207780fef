#include "agent/edge/isolation/own_spaces.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "agent/edge/grant/supervise_protocol.h"

namespace muster::agent {
namespace {

/// Why not; "" = it is written.
std::string why_not_written(const std::string& path, const std::string& text) {
  const Fd fd(open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
  const bool is_written = fd.is_open() && write(fd.get(), text.data(), text.size()) ==
                                              static_cast<ssize_t>(text.size());
  return is_written ? "" : path + ": " + errno_text(errno);
}

/// Each user is itself in it, and there is no other.
std::string map_user(const std::string& uid, const std::string& gid) {
  std::string failure = why_not_written("/proc/self/setgroups", "deny");
  for (const auto& [path, text] : {std::pair("/proc/self/uid_map", uid + " " + uid + " 1"),
                                   std::pair("/proc/self/gid_map", gid + " " + gid + " 1")}) {
    if (failure.empty()) {
      failure = why_not_written(path, text);
    }
  }
  return failure;
}

}  // namespace

OwnProcesses enter_own_processes(bool become_users) {
  if (unshare(CLONE_NEWPID) == 0) {
    return {true, ""};
  }
  const std::string uid = std::to_string(geteuid());
  const std::string gid = std::to_string(getegid());
  if (become_users || unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0) {
    return {};
  }
  return {true, map_user(uid, gid)};
}

bool enter_own_mounts() {
  return unshare(CLONE_NEWNS | CLONE_NEWIPC) == 0 &&
         mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) == 0 &&
         mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) == 0;
}

}  // namespace muster::agent
