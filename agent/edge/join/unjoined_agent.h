#pragma once
// An agent that has no cluster yet waits here: it listens on its unix sockets and nowhere else,
// until its user founds a cluster (muster init) or gives it a ticket (muster join). Then it becomes
// a member, once and for good.

#include <functional>
#include <optional>
#include <string>

#include "agent/edge/disk/host_key.h"
#include "agent/edge/join/membership_record.h"
#include "agent/front/asker.h"
#include "gossip/base/result.h"
#include "gossip/edge/login_listener.h"
#include "gossip/edge/zmq_transport.h"
#include "gossip/wire/endpoint.h"

namespace muster::agent {

struct UnjoinedOptions {
  std::string ipc_path;
  /// Where other logins come in; it outlives the agent. nullptr = nowhere.
  const gossip::LoginListener* logins = nullptr;
  std::string name;          ///< Of this host.
  gossip::Endpoint control;  ///< Where it will listen, as others reach it.
  Login login;               ///< The user of the agent, which may found and join, as root may.
  int stop_fd = -1;
  std::function<void()> on_turn;  ///< Called several times a second while it waits.
  /// A file with a ticket, read once it is there and tried again and again; "" = its user will say.
  std::string ticket_path;
};

/// Blocks. nullopt if the process was asked to end.
Result<std::optional<MembershipRecord>> wait_for_membership(const HostKey& key,
                                                            const UnjoinedOptions& options);

}  // namespace muster::agent
