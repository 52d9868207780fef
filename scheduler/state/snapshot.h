#pragma once
// The books as bytes and back: documents in the order head, hosts, attempts with their members,
// jobs, arrays, keys, usage, what is usual, the roll. Each is preceded by its length (4 bytes, big
// endian), because one document of everything would exceed the limits of the wire's decoder.
//
// The same books give the same bytes at every voter and in every version: voters compare digests.
// What only some jobs and hosts have is written for those alone, so that the bytes of the others
// are those of a version that knew nothing of it.

#include <cstdint>
#include <string>
#include <string_view>

#include "gossip/base/result.h"
#include "scheduler/state/books.h"

namespace muster::scheduler {

std::string encoded(const Books& books);
/// kCorrupt names the first document that does not fit.
Result<Books> decoded(std::string_view bytes, const KeptBytesMax& kept_max);
/// XXH3-64 over encoded().
std::uint64_t digest_of(const Books& books);

}  // namespace muster::scheduler
