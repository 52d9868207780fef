#pragma once
// Whether a host can be asked now, as this one sees it. A rule without fields.

#include "gossip/base/ids.h"
#include "membership/membership.h"

namespace muster::agent {

/// A question passed on to a host that we cannot reach ourselves ends as "outcome unknown", which
/// is worse than a refusal: own claims count here before any verdict.
bool is_reachable(const membership::Membership& membership, HostId host);

}  // namespace muster::agent
