#pragma once
// The outlook of an attempt if some of its hosts do not answer: the rules of the scheduler as
// a sentence for people. It only reads. The scheduler decides by its own view.

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "crdt/rows/address_book.h"
#include "gossip/base/time.h"
#include "membership/member.h"
#include "scheduler/state/state.h"

namespace muster::agent {

/// This node's view of a host; nullptr if it never heard of it.
using MemberOf = std::function<const membership::Member*(HostId)>;

/// Hosts as the answering node knows them.
struct HostViews {
  const crdt::AddressBook& addresses;
  MemberOf member_of;
  Instant now;
  /// Set on a leader: the hosts on which it places no job, each with the reason.
  std::map<HostId, std::string> left_out_by_leader = {};
  /// The reason that no leader may be there to place jobs; "" = there is a leader.
  std::string unled = {};
  std::int64_t now_unix_ms = 0;  ///< Its wall clock; 0 = not known.
};

/// True if the host is suspect, unreachable or left.
bool is_missing(const membership::Member* member);

/// The missing hosts, since when they are missing, and the effect on the job. "" if every host that
/// the attempt still needs answers, or if the attempt and its job are over. If the attempt is over
/// and its job stops, the text says that its failure is not classed yet (scheduler/PROTOCOL.md, 8).
std::string outlook(const scheduler::Job& job, const scheduler::Attempt& attempt,
                    const HostViews& hosts);

}  // namespace muster::agent
