#pragma once
// The encoding of the books as a snapshot: documents in the order head, hosts, attempts with their
// members, jobs, arrays, keys, usage, usual requests, the roll, the users, the audit, queues,
// shares, preemptions, ends to be told. Each is preceded by its length (4 bytes, big endian),
// because one document would exceed the limits of the wire's decoder.
//
// The same books give the same bytes at every voter and in every version: voters compare digests.
// Fields that only some jobs and hosts have are written for those alone: the bytes of all others
// equal those of a version without these fields.

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
