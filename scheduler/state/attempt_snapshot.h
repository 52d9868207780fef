#pragma once
// An attempt as documents of a snapshot: one for itself, and one for each of its members.

#include <cstdint>

#include "gossip/wire/wire.h"
#include "scheduler/state/guarantee_book.h"
#include "scheduler/state/reservations.h"

namespace muster::scheduler {

/// Each begins with `section`. `cover`: where the attempt is guaranteed.
gossip::Encoder attempt_document(const Attempt& attempt, Cover cover, std::uint64_t section);
gossip::Encoder member_document(const Token& token, const MemberRecord& record,
                                std::uint64_t section);
/// The document, behind its section; without members.
Attempt read_attempt(gossip::Reader& in, Cover& cover);
/// The document, behind its section and the token.
MemberRecord read_member_record(gossip::Reader& in);

}  // namespace muster::scheduler
