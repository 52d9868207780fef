#pragma once
// RowsBody is the body of MessageType::kRows: rows of hosts, and questions of the sender. Each
// element may be absent, so that one type serves floods, questions, answers and audits.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "crdt/rows/row.h"
#include "gossip/base/ids.h"
#include "gossip/wire/wire.h"

namespace muster::crdt {

/// Limits of a message: its number of rows, and the size after which it takes no further row. The
/// rest goes into further messages.
inline constexpr std::size_t kRowsPerMessageMax = 1024;
inline constexpr std::size_t kRowsBytesMax = 256 << 10;
/// Limit of the rows of a message as they are kept: fields share a proof on the wire but not here.
/// No honest message holds more.
inline constexpr std::size_t kRowsKeptBytesMax = 4 * kRowsBytesMax;
/// Limit of the ids and digests in one message: below the decoder's element limit, about 130 KB.
inline constexpr std::size_t kDigestsPerMessageMax = 4096;

struct RowOf {
  HostId host;
  Row row;  ///< The whole row, or only the fields that are news.
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
  /// `digests` lists all rows of the sender: the sender lacks a row that is not listed.
  bool complete = false;
  /// Digest over all rows of the sender: a receiver whose digest differs answers with its digests.
  /// 0 = no audit.
  std::uint64_t audit = 0;
  /// `rows` are whole and differ from the digests of the receiver, which sends back the fields that
  /// it knows better.
  bool compares = false;
};

std::string encode(const RowsBody& body);
/// nullopt if the body is malformed or above a limit; trailing elements are ignored.
std::optional<RowsBody> decode_rows(gossip::Reader body);

}  // namespace muster::crdt
