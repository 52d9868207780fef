#include "gossip/edge/login_listener.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace muster::gossip {
namespace {

/// Connections that wait for the agent: each login has room for all of its own.
constexpr int kBacklog = 512;
constexpr mode_t kOwnerAlone = 0600;
constexpr mode_t kGroup = 0660;
constexpr mode_t kAll = 0666;

/// False if the path is too long for an address.
bool fill(const std::string& path, sockaddr_un& address) {
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    return false;
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  return true;
}

Error failed(const std::string& path, int error) {
  return {ErrorCode::kIo, "cannot listen at " + path + ": " + std::strerror(error)};
}

/// Removes what a process that has ended left at the path.
Status make_room(const std::string& path) {
  struct stat found {};
  if (lstat(path.c_str(), &found) != 0) {
    return ok();
  }
  if (!S_ISSOCK(found.st_mode) && !S_ISLNK(found.st_mode)) {
    return Error{ErrorCode::kConflict, path + " is no socket: remove it"};
  }
  if (is_listening(path)) {
    return Error{ErrorCode::kConflict,
                 "another agent listens at " + path + ": give this one another --name"};
  }
  return unlink(path.c_str()) == 0 || errno == ENOENT ? ok() : Status(failed(path, errno));
}

}  // namespace

bool is_listening(const std::string& path) {
  sockaddr_un address{};
  if (!fill(path, address)) {
    return false;
  }
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  const int rc = connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  const int error = errno;
  close(fd);
  return rc == 0 || (error != ENOENT && error != ECONNREFUSED && error != ENOTDIR);
}

LoginListener::~LoginListener() {
  if (!is_open()) {
    return;
  }
  if (is_at_path()) {
    unlink(path_.c_str());
  }
  close(fd_);
}

Status LoginListener::open(const std::string& path, std::optional<gid_t> group) {
  path_ = path;
  group_ = group;
  const Status listens = listen_at_path();
  if (!listens) {
    path_.clear();
  }
  return listens;
}

/// Nobody else may connect until all is set: the mode of the descriptor becomes that of the file.
Status LoginListener::listen_at_path() {
  sockaddr_un address{};
  if (!fill(path_, address)) {
    return Error{ErrorCode::kInvalid, "the path " + path_ + " is too long for a socket"};
  }
  if (const Status free = make_room(path_); !free) {
    return free;
  }
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) {
    return failed(path_, errno);
  }
  const bool is_bound = fchmod(fd, kOwnerAlone) == 0 &&
                        bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  struct stat made {};
  const bool is_set = is_bound && listen(fd, kBacklog) == 0 &&
                      (!group_.has_value() || lchown(path_.c_str(), uid_t(-1), *group_) == 0) &&
                      chmod(path_.c_str(), group_.has_value() ? kGroup : kAll) == 0 &&
                      lstat(path_.c_str(), &made) == 0;
  if (!is_set) {
    const int error = errno;
    if (is_bound) {
      unlink(path_.c_str());
    }
    close(fd);
    return failed(path_, error);
  }
  if (const int before = std::exchange(fd_, fd); before >= 0) {
    close(before);
  }
  device_ = made.st_dev;
  inode_ = made.st_ino;
  ++edition_;
  return ok();
}

bool LoginListener::is_at_path() const {
  struct stat found {};
  return lstat(path_.c_str(), &found) == 0 && found.st_dev == device_ && found.st_ino == inode_;
}

bool LoginListener::renew() {
  return is_open() && !is_at_path() && listen_at_path().has_value();
}

int LoginListener::copy() const {
  return fcntl(fd_, F_DUPFD_CLOEXEC, 0);
}

}  // namespace muster::gossip
