#pragma once
// Decides if this host can ask another host now. A rule without fields.

#include "gossip/base/ids.h"
#include "membership/membership.h"

namespace muster::agent {

/// True if this host can reach `host`. Own claims count before there is a verdict: a request that
/// is passed on to an unreachable host ends as "outcome unknown", which is worse than a refusal.
bool is_reachable(const membership::Membership& membership, HostId host);

}  // namespace muster::agent
