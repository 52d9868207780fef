#include "agent/edge/ranks/master_port.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <optional>

namespace muster::agent {
namespace {

sockaddr_storage address_of(const gossip::Endpoint& endpoint, socklen_t& size) {
  sockaddr_storage storage{};
  if (endpoint.is_ipv4()) {
    auto* v4 = reinterpret_cast<sockaddr_in*>(&storage);
    v4->sin_family = AF_INET;
    std::memcpy(&v4->sin_addr, endpoint.ip.data() + 12, 4);
    size = sizeof(sockaddr_in);
  } else {
    auto* v6 = reinterpret_cast<sockaddr_in6*>(&storage);
    v6->sin6_family = AF_INET6;
    std::memcpy(&v6->sin6_addr, endpoint.ip.data(), 16);
    size = sizeof(sockaddr_in6);
  }
  return storage;
}

}  // namespace

Status MasterPort::hold(const std::string& address) {
  const std::optional<gossip::Endpoint> wanted = gossip::Endpoint::parse(address, 0);
  if (!wanted.has_value()) {
    return Error{ErrorCode::kInvalid, "no address: " + address};
  }
  endpoint_ = *wanted;
  socklen_t size = 0;
  sockaddr_storage storage = address_of(endpoint_, size);
  socket_ = Fd(socket(storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int one = 1;
  setsockopt(socket_.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  auto* raw = reinterpret_cast<sockaddr*>(&storage);
  if (bind(socket_.get(), raw, size) != 0 || getsockname(socket_.get(), raw, &size) != 0) {
    return Error{ErrorCode::kIo, "cannot reserve a port on " + address + ": " + errno_text(errno)};
  }
  endpoint_.port =
      ntohs(storage.ss_family == AF_INET ? reinterpret_cast<sockaddr_in*>(&storage)->sin_port
                                         : reinterpret_cast<sockaddr_in6*>(&storage)->sin6_port);
  return ok();
}

}  // namespace muster::agent
