#pragma once
// Endpoints in the kernel's form.

#include <sys/socket.h>

#include "gossip/wire/endpoint.h"

namespace muster::gossip {

/// Writes `endpoint` to `storage`, and says how long it is there.
socklen_t fill_address(const Endpoint& endpoint, sockaddr_storage& storage);

}  // namespace muster::gossip
