#include "gossip/edge/connection_mark.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "gossip/edge/kernel_address.h"

namespace muster::gossip {
namespace {

using NameOf = int (*)(int, sockaddr*, socklen_t*);

/// The address of one end in the kernel's form; "" if it has none.
std::string end_of(int fd, NameOf name_of) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (fd < 0 || name_of(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    return "";
  }
  return std::string(reinterpret_cast<const char*>(&address), size);
}

/// A number that the kernel gives to one socket and to no other until it starts again; 0 if it does
/// not say.
std::uint64_t cookie_of(int fd) {
  std::uint64_t cookie = 0;
  socklen_t size = sizeof cookie;
  return getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &size) == 0 ? cookie : 0;
}

}  // namespace

ConnectionMark::ConnectionMark(int fd)
    : fd_(fd),
      own_(end_of(fd, getsockname)),
      peer_(end_of(fd, getpeername)),
      cookie_(cookie_of(fd)) {}

bool ConnectionMark::is_there() const {
  return !peer_.empty() && cookie_of(fd_) == cookie_ && end_of(fd_, getpeername) == peer_ &&
         end_of(fd_, getsockname) == own_;
}

bool ConnectionMark::end() const {
  return is_there() && shutdown(fd_, SHUT_RDWR) == 0;
}

std::optional<std::uint64_t> ConnectionMark::sent_bytes() const {
  tcp_info info{};
  socklen_t size = sizeof info;
  constexpr std::size_t kNeeded =
      offsetof(tcp_info, tcpi_bytes_retrans) + sizeof info.tcpi_bytes_retrans;
  if (!is_there() || getsockopt(fd_, IPPROTO_TCP, TCP_INFO, &info, &size) != 0 || size < kNeeded) {
    return std::nullopt;
  }
  return info.tcpi_bytes_sent - info.tcpi_bytes_retrans;
}

std::string ConnectionMark::peer_ip_text() const {
  sockaddr_storage address{};
  std::memcpy(&address, peer_.data(), std::min(peer_.size(), sizeof address));
  const auto endpoint = endpoint_of(address);
  return endpoint.has_value() ? endpoint->ip_text() : "";
}

}  // namespace muster::gossip
