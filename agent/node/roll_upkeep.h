#pragma once
// The upkeep of the roll that a leader does by itself, a little at a time. It logs records that the
// log lacks, signs records of a replaced authority again, tells hosts one after the other to change
// their link keys, and replaces an authority whose secret a revoked host had. Rules without fields.

#include <string>

#include "agent/api/enrolment.h"
#include "agent/node/node_view.h"
#include "gossip/base/result.h"
#include "scheduler/protocol/roll_entries.h"
#include "scheduler/seat/seat_interface.h"

namespace muster::agent {

/// The longest time between two changes of all link keys, in cluster time.
inline constexpr Duration kKeysAgeMax = std::chrono::hours(24 * 30);
/// The most records that one look signs again.
inline constexpr std::size_t kSignedAgainMax = 256;
/// Hosts that change their keys at the same time: kChangingMax, or one in kChangingOneOf if that is
/// more. The hosts of one rack come after those of another.
inline constexpr std::size_t kChangingMax = 4;
inline constexpr std::size_t kChangingOneOf = 64;

/// Precondition: this host leads.
scheduler::input::RollMet upkeep_of_roll(const NodeView& node);
/// The entry for a new authority, signed by the present one.
Result<scheduler::entry::ReplaceAuthority> next_authority(const NodeView& node,
                                                          scheduler::Subject by);
/// The entry for another change of all link keys.
scheduler::entry::RotateKeys next_round(const NodeView& node, scheduler::Subject by);
/// The entry that replaces the record of that host by `record`, signed.
scheduler::entry::Enrol changed_record(const NodeView& node, HostId host,
                                       const crdt::RollRecord& record);
/// The progress of each member with its keys, as this host knows it.
KeysInfo keys_info(const NodeView& node);

}  // namespace muster::agent
