#pragma once
// Conversions between Endpoint and sockaddr_storage, the kernel's form of an address.

#include <sys/socket.h>

#include <optional>

#include "gossip/wire/endpoint.h"

namespace muster::gossip {

/// Writes `endpoint` to `storage`, and returns its size there.
socklen_t fill_address(const Endpoint& endpoint, sockaddr_storage& storage);
/// nullopt if the address is neither IPv4 nor IPv6.
std::optional<Endpoint> endpoint_of(const sockaddr_storage& storage);

}  // namespace muster::gossip
