#pragma once
// The conversation with a node over ZeroMQ: the client envelope, nonces that keep late answers
// apart.

#include <functional>
#include <memory>
#include <string>

#include "cli/kit/node_client.h"

namespace muster::cli {

/// Called about twice a second while an answer is awaited, with the time waited so far.
using WaitListener = std::function<void(Duration waited)>;

/// `address`: "ipc://PATH" or "HOST[:PORT]", whose name is resolved here. kUnavailable when nobody
/// listens there, kInvalid when it is no address.
Result<std::unique_ptr<NodeClient>> connect_node(const std::string& address, WaitListener on_wait);

}  // namespace muster::cli
