#pragma once
// The usual requests in a snapshot: a document for each request, since all of them would exceed the
// limits of one document.

#include <cstdint>
#include <vector>

#include "gossip/wire/wire.h"
#include "scheduler/state/popularity.h"

namespace muster::scheduler {

/// The contents of the documents read so far.
struct PopularityParts {
  Popularity::Counts counts;
  Usual usual;
  std::uint64_t arrived = 0;
  std::uint64_t look_at = kPopularFirst;

  Popularity whole() && { return {std::move(counts), arrived, look_at, std::move(usual)}; }
};

/// Each document begins with `section`. Empty if no submit arrived.
std::vector<gossip::Encoder> popularity_documents(const Popularity& popularity,
                                                  std::uint64_t section);
/// Reads the elements behind the section. Fails the reader on a document that it would not write.
void read_popularity(gossip::Reader& in, PopularityParts& parts);

}  // namespace muster::scheduler
