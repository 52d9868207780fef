#pragma once
// Endpoints in the kernel's form.

#include <sys/socket.h>

#include <optional>

#include "gossip/wire/endpoint.h"

namespace muster::gossip {

/// Writes `endpoint` to `storage`, and says how long it is there.
socklen_t fill_address(const Endpoint& endpoint, sockaddr_storage& storage);
/// Nothing when it is neither IPv4 nor IPv6.
std::optional<Endpoint> endpoint_of(const sockaddr_storage& storage);

}  // namespace muster::gossip
