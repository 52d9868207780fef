#pragma once
// The unix sockets of an agent for the CLI: who may use the one for all logins, and the links by
// which people find them.

#include <sys/types.h>

#include <optional>

#include "agent/edge/run/run_agent.h"
#include "agent/edge/run/socket_links.h"
#include "gossip/base/result.h"
#include "gossip/edge/login_listener.h"

namespace muster::agent {

/// kInvalid: there is no such group. nullopt: none was named.
Result<std::optional<gid_t>> socket_group(const RunOptions& options);

/// Opens `logins` for an agent of root, and logs where people find the agent. Without links they
/// name the data directory.
void make_links(const RunOptions& options, std::optional<gid_t> group,
                gossip::LoginListener& logins, SocketLinks& links);

}  // namespace muster::agent
