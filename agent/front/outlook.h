#pragma once
// What becomes of an attempt some of whose hosts do not answer: the scheduler's rules as
// a sentence for people. Reads only; the scheduler decides by itself and by its own view.

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "crdt/rows/address_book.h"
#include "gossip/base/time.h"
#include "membership/member.h"
#include "scheduler/state/state.h"

namespace muster::agent {

/// This node's view of a host; null when it never heard of it.
using MemberOf = std::function<const membership::Member*(HostId)>;

/// Hosts as the answering node knows them.
struct HostViews {
  const crdt::AddressBook& addresses;
  MemberOf member_of;
  Instant now;
  /// Of a leader: where it places nothing, and why.
  std::map<HostId, std::string> left_out_by_leader = {};
  /// Why nobody may be there who places what fits; "" = a leader is.
  std::string unled = {};
  std::int64_t now_unix_ms = 0;  ///< What its wall clock shows; 0 = not known.
};

/// True when the host answers nobody that matters: suspect, unreachable or left.
bool is_missing(const membership::Member* member);

/// Who is missing, since when, and what follows. "" when every host that the attempt still needs
/// answers, or when the attempt is over and its job with it. Of one that is over and whose job
/// stops: that its failure is not classed yet (scheduler/PROTOCOL.md, 8).
std::string outlook(const scheduler::Job& job, const scheduler::Attempt& attempt,
                    const HostViews& hosts);

}  // namespace muster::agent
