#include "gossip/edge/tcp_listener.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "gossip/edge/kernel_address.h"

namespace muster::gossip {
namespace {

constexpr int kBacklog = 4096;

Error listen_error(int error, const Endpoint& endpoint) {
  if (error == EADDRINUSE) {
    return {ErrorCode::kConflict,
            "port " + std::to_string(endpoint.port) + " on " + endpoint.ip_text() +
                " is in use: stop the agent that holds it, or choose another one with "
                "--listen IP:PORT (port 0 = any)"};
  }
  if (error == EADDRNOTAVAIL || error == ENODEV) {
    return {ErrorCode::kInvalid,
            endpoint.ip_text() +
                " is not an address of this host: give one of its own with --listen IP:PORT"};
  }
  return {ErrorCode::kIo, "cannot listen on " + endpoint.text() + ": " + std::strerror(error)};
}

/// A port that was just released can be bound at once. An IPv6 socket accepts IPv4, too.
bool bind_and_listen(int fd, const Endpoint& at) {
  const int yes = 1;
  const int no = 0;
  sockaddr_storage address{};
  const socklen_t size = fill_address(at, address);
  return setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 &&
         (at.is_ipv4() || setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no) == 0) &&
         bind(fd, reinterpret_cast<const sockaddr*>(&address), size) == 0 &&
         listen(fd, kBacklog) == 0;
}

std::uint16_t port_of(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  const auto endpoint = endpoint_of(address);
  return endpoint.has_value() ? endpoint->port : 0;
}

}  // namespace

TcpListener::~TcpListener() {
  if (is_open()) {
    close(fd_);
  }
}

Status TcpListener::open(const Endpoint& at) {
  const int family = at.is_ipv4() ? AF_INET : AF_INET6;
  fd_ = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd_ < 0 || !bind_and_listen(fd_, at)) {
    return listen_error(errno, at);
  }
  endpoint_ = at;
  endpoint_.port = port_of(fd_);
  return ok();
}

int TcpListener::copy() const {
  return fcntl(fd_, F_DUPFD_CLOEXEC, 0);
}

}  // namespace muster::gossip
