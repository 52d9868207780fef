#include "gossip/edge/kernel_address.h"

#include <netinet/in.h>

#include <cstring>

namespace muster::gossip {
namespace {

constexpr std::size_t kMappedPrefixBytes = 12;

}  // namespace

socklen_t fill_address(const Endpoint& endpoint, sockaddr_storage& storage) {
  if (endpoint.is_ipv4()) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(endpoint.port);
    std::memcpy(&address.sin_addr, endpoint.ip.data() + kMappedPrefixBytes,
                sizeof address.sin_addr);
    std::memcpy(&storage, &address, sizeof address);
    return sizeof address;
  }
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(endpoint.port);
  std::memcpy(&address.sin6_addr, endpoint.ip.data(), sizeof address.sin6_addr);
  std::memcpy(&storage, &address, sizeof address);
  return sizeof address;
}

std::optional<Endpoint> endpoint_of(const sockaddr_storage& storage) {
  if (storage.ss_family == AF_INET) {
    sockaddr_in address{};
    std::memcpy(&address, &storage, sizeof address);
    Endpoint endpoint = Endpoint::ipv4(0, 0, 0, 0, ntohs(address.sin_port));
    std::memcpy(endpoint.ip.data() + kMappedPrefixBytes, &address.sin_addr,
                sizeof address.sin_addr);
    return endpoint;
  }
  if (storage.ss_family == AF_INET6) {
    sockaddr_in6 address{};
    std::memcpy(&address, &storage, sizeof address);
    Endpoint endpoint;
    endpoint.port = ntohs(address.sin6_port);
    std::memcpy(endpoint.ip.data(), &address.sin6_addr, sizeof address.sin6_addr);
    return endpoint;
  }
  return std::nullopt;
}

}  // namespace muster::gossip
