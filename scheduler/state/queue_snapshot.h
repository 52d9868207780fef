#pragma once
// The tree of queues and its version as one document of a snapshot.

#include <cstdint>
#include <vector>

#include "gossip/wire/wire.h"
#include "scheduler/state/queue_book.h"

namespace muster::scheduler {

/// Begins with `section`. Empty if nobody has set queues.
std::vector<gossip::Encoder> queue_documents(const QueueBook& queues, std::uint64_t section);
/// The document, behind its section. Fails the reader unless the tree is valid.
QueueBook read_queues(gossip::Reader& in);

}  // namespace muster::scheduler
