#pragma once
// An array as it stands in a snapshot.

#include "gossip/wire/wire.h"
#include "scheduler/state/array_book.h"

namespace muster::scheduler {

inline constexpr std::size_t kArrayElements = 16;

void write_array(gossip::Encoder& out, const TaskArray& array);
/// Fails on what no array can be.
TaskArray read_array(gossip::Reader& in);

}  // namespace muster::scheduler
