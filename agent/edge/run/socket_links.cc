#include "agent/edge/run/socket_links.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>

#include "gossip/edge/login_listener.h"

namespace muster::agent {
namespace {

constexpr mode_t kDirectoryMode = 0755;
constexpr mode_t kOthersWrite = S_IWGRP | S_IWOTH;

/// "" when it is no link.
std::string target_of(const std::string& link) {
  std::array<char, 4096> target{};
  const ssize_t size = readlink(link.c_str(), target.data(), target.size());
  return size <= 0 ? "" : std::string(target.data(), static_cast<std::size_t>(size));
}

/// False: an agent that lives has it.
bool make_link(const std::string& link, const std::string& socket) {
  if (symlink(socket.c_str(), link.c_str()) == 0) {
    return true;
  }
  const std::string target = target_of(link);
  if (target == socket) {
    return true;
  }
  if (target.empty() || gossip::is_listening(target)) {
    return false;
  }
  unlink(link.c_str());
  return symlink(socket.c_str(), link.c_str()) == 0;
}

}  // namespace

/// A mask of this process does not close the directory to other logins.
Status make_runtime_directory(const std::string& directory) {
  if (mkdir(directory.c_str(), kDirectoryMode) == 0) {
    chmod(directory.c_str(), kDirectoryMode);
  }
  struct stat found {};
  if (lstat(directory.c_str(), &found) != 0 || !S_ISDIR(found.st_mode)) {
    return Error{ErrorCode::kIo, "there is no directory " + directory};
  }
  if (found.st_uid != geteuid() || (found.st_mode & kOthersWrite) != 0) {
    return Error{ErrorCode::kDenied, directory +
                                         " belongs to another user, or others may write into it: "
                                         "chown it to this user, mode 0755"};
  }
  return ok();
}

std::string runtime_directory() {
  const char* said = std::getenv("MUSTER_RUNTIME_DIR");
  if (said != nullptr && *said != '\0') {
    return said;
  }
  if (geteuid() == 0) {
    return "/run/muster";
  }
  const char* of_user = std::getenv("XDG_RUNTIME_DIR");
  return of_user == nullptr || *of_user == '\0' ? "" : std::string(of_user) + "/muster";
}

SocketLinks::~SocketLinks() {
  for (const std::string& path : paths_) {
    if (target_of(path) == socket_) {
      unlink(path.c_str());
    }
  }
}

Status SocketLinks::make(const std::string& directory, const std::string& name,
                         const std::string& socket) {
  directory_ = directory;
  name_ = name;
  socket_ = socket;
  paths_.clear();
  if (const Status good = make_runtime_directory(directory); !good) {
    return good;
  }
  const std::string first = directory + "/agent.sock";
  if (first != socket && make_link(first, socket)) {
    paths_.push_back(first);
  }
  const std::string own = directory + "/" + name + ".sock";
  if (own == first || own == socket) {
    return ok();
  }
  if (name.empty() || name.find('/') != std::string::npos || !make_link(own, socket)) {
    return Error{ErrorCode::kConflict,
                 own + " was not created: another agent has it, or the directory is not writable"};
  }
  paths_.push_back(own);
  return ok();
}

void SocketLinks::renew() {
  const auto is_missing = [](const std::string& path) {
    struct stat found {};
    return lstat(path.c_str(), &found) != 0 && errno == ENOENT;
  };
  const bool is_made = !socket_.empty() && !name_.empty();
  const std::string own = directory_ + "/" + name_ + ".sock";
  if (is_made && (is_missing(directory_ + "/agent.sock") || (own != socket_ && is_missing(own)))) {
    static_cast<void>(make(directory_, name_, socket_));
  }
}

}  // namespace muster::agent
