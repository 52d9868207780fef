#pragma once
// The fields of entry::Edit as they are logged.

#include <cstddef>

#include "gossip/wire/wire.h"
#include "scheduler/protocol/entry.h"

namespace muster::scheduler {

/// Number of elements behind the header of the entry: two more if it changes a begin or deadline.
std::size_t edit_elements(const entry::Edit& fact);
void write(gossip::Encoder& out, const entry::Edit& fact);
/// Fails the reader at a time below 0 or above kSpanMax; a time limit may be kNoTimeLimit.
entry::Edit read_edit(gossip::Reader& in);

}  // namespace muster::scheduler
