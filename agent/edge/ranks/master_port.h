#pragma once
// MASTER_PORT of one attempt, kept for its whole life by the supervisor of rank 0: a socket that is
// bound and never listens. Nobody else is given the port, and rank 0, which sets SO_REUSEADDR, can
// still listen on it.

#include <string>

#include "agent/edge/grant/supervise_protocol.h"
#include "gossip/base/result.h"
#include "gossip/wire/endpoint.h"

namespace muster::agent {

class MasterPort {
 public:
  /// Binds any free port on `address`, an IP. kInvalid: that is no address; kIo: no port there.
  Status hold(const std::string& address);
  /// Where rank 0 will listen; unset before hold().
  const gossip::Endpoint& endpoint() const { return endpoint_; }

 private:
  gossip::Endpoint endpoint_;
  Fd socket_;
};

}  // namespace muster::agent
