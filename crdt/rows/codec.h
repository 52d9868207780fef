#pragma once
// The body of MessageType::kRows: rows of hosts and what the sender wants to know. Every element is
// optional in meaning, so one type serves floods, questions, answers and audits.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "crdt/rows/row.h"
#include "gossip/base/ids.h"
#include "gossip/wire/wire.h"

namespace muster::crdt {

/// A message carries at most this many rows, and stops at the byte limit after the row that
/// crossed it; the rest goes into further messages.
inline constexpr std::size_t kRowsPerMessageMax = 1024;
inline constexpr std::size_t kRowsBytesMax = 256 << 10;
/// Of the rows of a message as they are kept: fields may share a proof on the wire and do not here.
/// More is nobody's.
inline constexpr std::size_t kRowsKeptBytesMax = 4 * kRowsBytesMax;
/// Ids and digests in one message: below the decoder's element limit, about 130 KB.
inline constexpr std::size_t kDigestsPerMessageMax = 4096;

struct RowOf {
  HostId host;
  Row row;  ///< Whole, or only the fields that are news.
};

struct RowDigest {
  HostId host;
  std::uint64_t digest = 0;
};

/// [want_all, [wanted ids], [[host, full_from, proofs, fields]...], [[host, digest]...], complete,
/// audit, compares]
struct RowsBody {
  bool want_all = false;     ///< "Send every row you have."
  std::vector<HostId> want;  ///< "Send these rows."
  std::vector<RowOf> rows;
  /// "This is what I hold": the receiver answers with rows that differ and asks for them.
  std::vector<RowDigest> digests;
  /// `digests` lists every row of the sender: ones that are not named are missing there.
  bool complete = false;
  /// Digest over all rows of the sender: a receiver that differs answers with its digests. 0 = no
  /// audit.
  std::uint64_t audit = 0;
  /// `rows` are whole, and differ from what the receiver said it holds: it sends back what it knows
  /// better.
  bool compares = false;
};

std::string encode(const RowsBody& body);
/// Nothing when the body does not fit; trailing elements are ignored.
std::optional<RowsBody> decode_rows(gossip::Reader body);

}  // namespace muster::crdt
