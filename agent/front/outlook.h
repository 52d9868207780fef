#pragma once
// What becomes of an attempt some of whose hosts do not answer: the scheduler's rules as
// a sentence for people. Reads only; the scheduler decides by itself and by its own view.

#include <functional>
#include <string>

#include "crdt/rows/address_book.h"
#include "membership/member.h"
#include "scheduler/state/state.h"

namespace muster::agent {

/// This node's view of a host; null when it never heard of it.
using MemberOf = std::function<const membership::Member*(HostId)>;

/// True when the host answers nobody that matters: suspect, unreachable or left.
bool is_missing(const membership::Member* member);

/// Who is missing, since when, and what follows. "" when every host that the attempt still needs
/// answers, or when the attempt is over.
std::string outlook(const scheduler::Job& job, const scheduler::Attempt& attempt,
                    const crdt::AddressBook& addresses, const MemberOf& member_of, Instant now);

}  // namespace muster::agent
