#include "gossip/edge/login_connections.h"

#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>

#include "gossip/edge/connection_mark.h"

namespace muster::gossip {
namespace {

constexpr std::uint32_t kRoot = 0;

}  // namespace

bool is_limited_login(std::uint32_t uid, std::uint32_t own) {
  return uid != kRoot && uid != own;
}

/// The kernel names a peer of -1 for sockets of other families.
std::optional<std::uint32_t> uid_of_peer(int fd) {
  int family = 0;
  socklen_t size = sizeof family;
  if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &size) != 0 || family != AF_UNIX) {
    return std::nullopt;
  }
  ucred peer{};
  size = sizeof peer;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || peer.pid == 0) {
    return std::nullopt;
  }
  return peer.uid;
}

std::size_t connections_of_logins_max() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
    return kConnectionsOfLoginsMax;
  }
  return std::clamp<std::size_t>(limit.rlim_cur / kLoginDescriptorsPart, 1,
                                 kConnectionsOfLoginsMax);
}

void LoginConnections::on_accepted(int fd) {
  const std::lock_guard lock(mutex_);
  forget(fd);
  const ConnectionMark mark(fd);
  const auto uid = options_.uid_of(fd);
  if (!uid.has_value() || !is_limited_login(*uid, options_.own)) {
    return;
  }
  const auto known = counts_.find(*uid);
  if (uids_.size() >= options_.of_all ||
      (known != counts_.end() && known->second >= options_.of_one)) {
    mark.end();
    ++ended_;
    return;
  }
  uids_.emplace(fd, *uid);
  ++counts_[*uid];
}

void LoginConnections::on_ended(int fd) {
  const std::lock_guard lock(mutex_);
  forget(fd);
}

void LoginConnections::forget(int fd) {
  const auto gone = uids_.find(fd);
  if (gone == uids_.end()) {
    return;
  }
  const auto count = counts_.find(gone->second);
  if (--count->second == 0) {
    counts_.erase(count);
  }
  uids_.erase(gone);
}

std::size_t LoginConnections::size() const {
  const std::lock_guard lock(mutex_);
  return uids_.size();
}

std::size_t LoginConnections::size_of(std::uint32_t uid) const {
  const std::lock_guard lock(mutex_);
  const auto known = counts_.find(uid);
  return known == counts_.end() ? 0 : known->second;
}

std::uint64_t LoginConnections::ended() const {
  const std::lock_guard lock(mutex_);
  return ended_;
}

}  // namespace muster::gossip
