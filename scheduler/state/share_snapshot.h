#pragma once
// Means and credits of shares in a snapshot: in several documents, since all of them would exceed
// the limits of one document. Held amounts are not there: they follow from the attempts.

#include <cstdint>
#include <optional>
#include <vector>

#include "gossip/wire/wire.h"
#include "scheduler/state/share_book.h"

namespace muster::scheduler {

/// The contents of the documents read so far.
struct ShareParts {
  ShareBook::Pools pools;
  /// nullopt: no document said it. Then nobody has set queues.
  std::optional<Duration> sampled_at;

  /// nullopt if they do not fit the tree. `cluster_time`: of the snapshot.
  std::optional<ShareBook> whole(const QueueBook& queues, Duration cluster_time) &&;
};

/// Each document begins with `section`. Empty if nobody has set queues.
std::vector<gossip::Encoder> share_documents(const ShareBook& shares, const QueueBook& queues,
                                             std::uint64_t section);
/// Reads the elements behind the section. Fails the reader on a document that it would not write.
void read_shares(gossip::Reader& in, ShareParts& parts);

}  // namespace muster::scheduler
