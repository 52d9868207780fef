#pragma once
// The requests that a login may make, and through which host. If the roll lets a host vouch for its
// logins, it passes on all their requests. Through another host a login sees the hosts and voters,
// and gets answers about its own host. Rules without fields.

#include "agent/api/request.h"
#include "gossip/base/ids.h"

namespace muster::agent {

/// True if host `asked` answers a login of host `speaker` although `speaker` may not vouch for it.
/// Precondition: `request` does not name `asked` as the node that answers.
bool is_open_to_all(const Request& request, HostId speaker, HostId asked);

}  // namespace muster::agent
