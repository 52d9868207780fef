#pragma once
// The conversation of a newcomer with a member: it shows its ticket and its identity and gets its
// record of the roll. Blocks for kJoinTimeout at most.

#include <string>

#include "agent/edge/disk/host_key.h"
#include "agent/edge/join/membership_record.h"
#include "gossip/base/result.h"
#include "gossip/base/time.h"

namespace muster::agent {

inline constexpr Duration kJoinTimeout = std::chrono::seconds(10);
/// The newcomer asks one member first, for each question costs the member a handshake, and the
/// leader a proof. If there is no answer within this, it asks all members, again and again; each
/// pause is twice the one before, up to the second limit: a member that was just founded opens its
/// port in a moment. If the first one cannot be reached, it asks all of them at once.
inline constexpr Duration kJoinAskAgain = std::chrono::milliseconds(250);
inline constexpr Duration kJoinAskAgainMax = std::chrono::milliseconds(1500);

/// kInvalid: that is no ticket. kConflict: a member refuses the ticket; the text is its reason.
/// kUnavailable: none of its addresses answers.
Result<MembershipRecord> join_with(const HostKey& key, const std::string& host_name,
                                   const std::string& ticket);

}  // namespace muster::agent
