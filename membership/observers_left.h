#pragma once
// Observers that have a verdict of their own say nothing more: when some of a host's are gone,
// those that are left may judge alone (PROTOCOL.md, 8). Else four dead observers of ten would keep
// a dead host among the suspects. A rule; when it may be used and how long it must hold says
// Membership.

#include <functional>

#include "gossip/base/ids.h"
#include "membership/evidence.h"
#include "membership/member.h"

namespace muster::membership {

/// So many must be left.
inline constexpr std::size_t kObserversLeftMin = 3;
/// Verdicts of this kind that build on one another.
inline constexpr int kReducedStepsMax = 3;

/// How many such verdicts build on one another with this one (Member::reduced_steps); 0: those that
/// are left are too few, do not agree, or are all there are.
int steps_of_those_left(const Member& member, const Evidence& evidence,
                        const std::function<const Member*(HostId)>& find);

}  // namespace muster::membership
