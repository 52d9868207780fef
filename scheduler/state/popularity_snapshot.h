#pragma once
// What is usually asked for, as it stands in a snapshot: a document for each request, since all of
// them would exceed the limits of one.

#include <cstdint>
#include <vector>

#include "gossip/wire/wire.h"
#include "scheduler/state/popularity.h"

namespace muster::scheduler {

/// What the documents that were read so far say.
struct PopularityParts {
  Popularity::Counts counts;
  Usual usual;
  std::uint64_t arrived = 0;
  std::uint64_t look_at = kPopularFirst;

  Popularity whole() && { return {std::move(counts), arrived, look_at, std::move(usual)}; }
};

/// Each begins with `section`. None while nothing arrived.
std::vector<gossip::Encoder> popularity_documents(const Popularity& popularity,
                                                  std::uint64_t section);
/// What follows the section. Fails on what no document of these says.
void read_popularity(gossip::Reader& in, PopularityParts& parts);

}  // namespace muster::scheduler
