#pragma once
// A newcomer's conversation with a member: it shows its ticket, says who it is and is given its
// record of the roll. Blocks for kJoinTimeout at most.

#include <string>

#include "agent/edge/disk/host_key.h"
#include "agent/edge/join/membership_record.h"
#include "gossip/base/result.h"
#include "gossip/base/time.h"

namespace muster::agent {

inline constexpr Duration kJoinTimeout = std::chrono::seconds(10);
/// One of the members is asked first, for each that is asked costs it a handshake, and the leader a
/// proof. If it does not answer within this, all of them are, again and again, twice as long after
/// each time up to the second: one that was just founded opens its port in a moment. If it cannot
/// be reached, they are asked at once.
inline constexpr Duration kJoinAskAgain = std::chrono::milliseconds(250);
inline constexpr Duration kJoinAskAgainMax = std::chrono::milliseconds(1500);

/// kInvalid: that is no ticket. kConflict: a member says why it lets nobody in with it.
/// kUnavailable: none of its addresses answers.
Result<MembershipRecord> join_with(const HostKey& key, const std::string& host_name,
                                   const std::string& ticket);

}  // namespace muster::agent
