#pragma once
// Row is one host's row as a value: fields with versions, and their join. Only the owner writes a
// row, so for each field the higher (generation, sequence) wins. The join is commutative,
// associative and idempotent, and ignores what a field means: unknown fields merge like known ones.

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "crdt/rows/host_state.h"
#include "gossip/base/ids.h"
#include "gossip/base/signing.h"
#include "gossip/wire/wire.h"

namespace muster::crdt {

/// Limits of a row from outside; read_row() refuses a larger one.
inline constexpr std::size_t kRowFieldsMax = 64;
inline constexpr std::size_t kFieldBytesMax = 64 << 10;
inline constexpr std::size_t kProofBytesMax =
    gossip::kSignatureBytes + kRowFieldsMax * gossip::kDigestBytes;
/// Limit of a generation and of a sequence: a forged one must not use up the counter.
inline constexpr std::uint64_t kVersionMax = std::uint64_t{1} << 48;

/// The version of a field: its order is (generation, sequence), never time.
struct RowVersion {
  Generation generation;
  Sequence sequence;
  constexpr auto operator<=>(const RowVersion&) const = default;
};

struct Field {
  RowVersion version;
  std::string bytes;
  /// Proof that the owner wrote it (proof.h); for FieldId::kRoll the signature of the authority.
  std::string proof{};
  /// Versions first. An honest owner never writes one version with different bytes; if it happens,
  /// the larger bytes win, so that all readers still agree.
  auto operator<=>(const Field&) const = default;
};

struct Row {
  /// The row includes the owner's first publish of this generation: fields of older generations
  /// are over and were dropped. 0 = not known.
  Generation full_from;
  std::map<std::uint32_t, Field> fields;  ///< By the number of FieldId, unknown ones included.

  bool operator==(const Row&) const = default;
  /// The highest version of any field that the owner wrote.
  RowVersion version() const;
  const Field* field(FieldId id) const;
};

/// Merges into `row` the fields that `other` knows better. Returns the numbers of the fields that
/// changed or were dropped, ascending.
std::vector<std::uint32_t> join(Row& row, const Row& other);

/// [full_from, [proof ...], {field: [generation, sequence, bytes, index of its proof]}]: the form
/// on disk, and on the wire behind the host id. Fields that were published together share a proof.
std::string encode_row(const Row& row);
void write_row(gossip::Encoder& out, const Row& row);
/// Reads the three elements; fails the reader if they exceed a limit.
Row read_row(gossip::Reader& in);
std::optional<Row> decode_row(std::string_view bytes);

}  // namespace muster::crdt
