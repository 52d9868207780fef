#pragma once
// The rule by which the observers left judge a host alone when its other observers have a verdict
// themselves (PROTOCOL.md, 8). Without it four dead observers of ten would keep a dead host among
// the suspects. Pure: Membership decides when the rule may be used and how long it must hold.

#include <functional>

#include "gossip/base/ids.h"
#include "membership/evidence.h"
#include "membership/member.h"

namespace muster::membership {

/// The fewest observers left that may judge.
inline constexpr std::size_t kObserversLeftMin = 3;
/// The most verdicts of this kind that build on one another.
inline constexpr int kReducedStepsMax = 3;

/// The number of such verdicts that build on one another, this one included
/// (Member::reduced_steps). 0 if the observers left are too few or do not agree, if the number is
/// above kReducedStepsMax, or if no observer is gone.
int steps_of_those_left(const Member& member, const Evidence& evidence,
                        const std::function<const Member*(HostId)>& find);

}  // namespace muster::membership
