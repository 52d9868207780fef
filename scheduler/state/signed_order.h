#pragma once
// The rule of signed orders: the change of users by an administrator, and the orders that only
// administrators may give. Every voter verifies the signature before it applies the entry, so
// neither the host that vouches, nor one that passes the order on, nor a false leader can make one.
// The leader asks the same before it proposes the entry. Rules without fields.
//
// A leader makes entries of the same kinds by itself, in the name of no person, for it holds the
// authority's secret. They change members and keys, but never users.

#include "gossip/base/result.h"
#include "gossip/base/signing.h"
#include "scheduler/access/directory.h"
#include "scheduler/protocol/entry.h"
#include "scheduler/state/roll_book.h"

namespace muster::scheduler {

/// Whether the signature of the entry counts, if it has one, and if not, whether it needs one:
/// kDenied, with the reason for people. kConflict: kSignAgain (scheduler/access/intent.h).
/// `verifier` may be null: then no signature counts.
Status check_signature(const Directory& directory, const RollBook& roll, const Entry& entry,
                       const gossip::Verifier* verifier);
/// Uses the number of the key that signed, if one did. Precondition: check_signature() is ok.
void count_signature(Directory& directory, const RollBook& roll, const Entry& entry);

}  // namespace muster::scheduler
