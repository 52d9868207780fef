#pragma once
// Decides which requests a host may pass on for its logins: the rule of agent/front/access and the
// roll, for one request. A rule without fields.

#include <string>

#include "agent/api/request.h"
#include "agent/node/known.h"
#include "gossip/base/ids.h"

namespace muster::agent {

/// The reason to refuse `request` of a login of host `speaker`; "" = it is accepted. `speaker` may
/// be this host.
std::string why_not_through(const Known& known, const Request& request, HostId speaker);
/// True if without `host` another host may still vouch for its logins, or vote.
bool is_another_to_vouch(const Known& known, HostId host);
bool is_another_to_vote(const Known& known, HostId host);

/// True if this host may vouch for its logins, and no host that stays when it leaves may. False if
/// no host stays.
bool is_last_to_vouch(const Known& known);

}  // namespace muster::agent
