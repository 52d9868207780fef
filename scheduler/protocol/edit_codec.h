#pragma once
// The fields of entry::Edit as they are logged.

#include <cstddef>

#include "gossip/wire/wire.h"
#include "scheduler/protocol/entry.h"

namespace muster::scheduler {

/// Number of elements behind the header of the entry.
inline constexpr std::size_t kEditElements = 8;
void write(gossip::Encoder& out, const entry::Edit& fact);
/// Fails the reader at a time limit below 0, or above kSpanMax unless it is kNoTimeLimit.
entry::Edit read_edit(gossip::Reader& in);

}  // namespace muster::scheduler
