#pragma once
// The orders that a login may give, and through which host. A host that the roll lets vouch for
// its logins passes on all that they say; through any other one a login hears who the hosts and
// voters are, and is answered about its own host. Rules without fields.

#include "agent/api/request.h"
#include "gossip/base/ids.h"

namespace muster::agent {

/// Whether a login of host `speaker` is answered by host `asked` although `speaker` may not vouch
/// for it. Precondition: `request` does not name `asked` as the node that shall answer.
bool is_open_to_all(const Request& request, HostId speaker, HostId asked);

}  // namespace muster::agent
