#pragma once
// One conversation with one node. The verbs know this interface; the ZeroMQ one is
// cli/edge/zmq_node_client.h and tests bring their own.

#include "agent/api/request.h"
#include "gossip/base/result.h"
#include "gossip/base/time.h"

namespace muster::cli {

class NodeClient {
 public:
  virtual ~NodeClient() = default;
  /// Blocks until the answer is here or `timeout` has passed. kUnavailable: surely not received by
  /// the node. kUnknown: sent, but no answer came. kIo: sent, and the connection ended before
  /// an answer came. kInvalid: what came is no answer.
  virtual Result<agent::Response> ask(const agent::Request& request, Duration timeout) = 0;
};

}  // namespace muster::cli
