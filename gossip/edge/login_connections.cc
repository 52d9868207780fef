#include "gossip/edge/login_connections.h"

#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>

#include "gossip/base/check.h"

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

bool LoginConnections::take(std::uint32_t uid) {
  if (!is_limited_login(uid, options_.own)) {
    return true;
  }
  if (size_ >= options_.of_all || size_of(uid) >= options_.of_one) {
    return false;
  }
  ++size_;
  ++counts_[uid];
  return true;
}

void LoginConnections::give_back(std::uint32_t uid) {
  if (!is_limited_login(uid, options_.own)) {
    return;
  }
  const auto count = counts_.find(uid);
  CHECK(count != counts_.end());
  --size_;
  if (--count->second == 0) {
    counts_.erase(count);
  }
}

std::size_t LoginConnections::size_of(std::uint32_t uid) const {
  const auto known = counts_.find(uid);
  return known == counts_.end() ? 0 : known->second;
}

}  // namespace muster::gossip
