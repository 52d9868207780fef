#pragma once
// The encoding of an array in a snapshot.

#include "gossip/wire/wire.h"
#include "scheduler/state/array_book.h"

namespace muster::scheduler {

inline constexpr std::size_t kArrayElements = 16;  ///< One more if it has conditions.

void write_array(gossip::Encoder& out, const TaskArray& array);
/// Fails the reader if a task's number is out of range or the job has no array.
TaskArray read_array(gossip::Reader& in);

}  // namespace muster::scheduler
