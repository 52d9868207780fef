#pragma once
// What whoever leads does for the roll by itself, a little at a time: records that the log lacks
// are put there, records of a replaced authority are signed anew, hosts are told one after the
// other to change their link keys, and an authority whose secret a host had that was thrown out is
// replaced. Rules without fields.

#include <string>

#include "agent/api/enrolment.h"
#include "agent/node/known.h"
#include "gossip/base/result.h"
#include "scheduler/protocol/roll_entries.h"
#include "scheduler/seat/seat_words.h"

namespace muster::agent {

/// Link keys are changed at least so often, in cluster time.
inline constexpr Duration kKeysAgeMax = std::chrono::hours(24 * 30);
/// Records that are signed anew in one look.
inline constexpr std::size_t kSignedAnewMax = 256;
/// Hosts that change their keys at once, and one of so many of them: those of one rack after those
/// of another.
inline constexpr std::size_t kChangingMax = 4;
inline constexpr std::size_t kChangingOneOf = 64;

/// Precondition: this host leads.
scheduler::input::RollMet upkeep_of_roll(const Known& known);
/// Another authority, signed by the one that counts now.
Result<scheduler::entry::ReplaceAuthority> next_authority(const Known& known, std::string by);
/// All link keys once more.
scheduler::entry::RotateKeys next_round(const Known& known, std::string by);
/// A record of that host which says something else than the last one, signed.
scheduler::entry::Enrol changed_record(const Known& known, HostId host,
                                       const crdt::RollRecord& record);
/// How far each member is with its keys, as this host knows it.
KeysInfo keys_info(const Known& known);

}  // namespace muster::agent
