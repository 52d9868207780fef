#pragma once
// The cluster authority of tests, and its records of hosts.

#include <cstdint>
#include <string>

#include "crdt/rows/roll.h"
#include "tests/gossip/base/stand_in_keys.h"

namespace muster::crdt::testing {

/// The authority of the stand-in keys.
inline const HostId kAuthority = HostId::from_bytes("authority_______");

/// The record of a host that may vouch, and vote unless said otherwise; its keys are its id.
inline RollRecord record_of(HostId host, std::uint64_t founders = 0, bool may_vote = true) {
  RollRecord record;
  record.identity_key = std::string(host.bytes());
  record.link_key = std::string(host.bytes());
  record.founders = founders;
  record.may_vote = may_vote;
  record.may_vouch = true;
  return record;
}

inline Field roll_field(HostId host, const RollRecord& record, std::uint64_t edition = 1) {
  return signed_roll(host, {Generation(1), Sequence(edition)}, record,
                     gossip::testing::StandInSigner(kAuthority));
}

}  // namespace muster::crdt::testing
