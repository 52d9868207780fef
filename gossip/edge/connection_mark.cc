#include "gossip/edge/connection_mark.h"

#include <sys/socket.h>

namespace muster::gossip {
namespace {

/// The addresses of both ends in the kernel's form; "" when it has not two.
std::string ends_of(int fd) {
  sockaddr_storage own{};
  sockaddr_storage peer{};
  socklen_t own_size = sizeof own;
  socklen_t peer_size = sizeof peer;
  if (fd < 0 || getsockname(fd, reinterpret_cast<sockaddr*>(&own), &own_size) != 0 ||
      getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &peer_size) != 0) {
    return "";
  }
  return std::string(reinterpret_cast<const char*>(&own), own_size) +
         std::string(reinterpret_cast<const char*>(&peer), peer_size);
}

}  // namespace

ConnectionMark::ConnectionMark(int fd) : fd_(fd), ends_(ends_of(fd)) {}

void ConnectionMark::end() const {
  if (!ends_.empty() && ends_of(fd_) == ends_) {
    shutdown(fd_, SHUT_RDWR);
  }
}

}  // namespace muster::gossip
