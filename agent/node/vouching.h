#pragma once
// Which host may say what for the people who log in there: the rule of agent/front/access, and the
// roll, put together for one request. A rule without fields.

#include <string>

#include "agent/api/request.h"
#include "agent/node/known.h"
#include "gossip/base/ids.h"

namespace muster::agent {

/// Why `request` is not taken from host `speaker`, whose login says it; "" = it is. This host may
/// be the speaker itself.
std::string why_not_through(const Known& known, const Request& request, HostId speaker);
/// Whether another host would be left that may vouch for its logins, or vote, without `host`.
bool is_another_to_vouch(const Known& known, HostId host);
bool is_another_to_vote(const Known& known, HostId host);

/// This host may vouch for its logins, and of the hosts that would stay when it goes none may.
bool is_last_to_vouch(const Known& known);

}  // namespace muster::agent
