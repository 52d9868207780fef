#pragma once
// Rows as their owners say them, signed by the stand-in of tests.

#include <string>

#include "crdt/rows/codec.h"
#include "crdt/rows/row_check.h"
#include "tests/crdt/rows/roll_of.h"
#include "tests/gossip/base/stand_in_keys.h"

namespace muster::crdt::testing {

/// Puts the owner's record beside its identity, if there is one, and signs every other field as
/// `signer`.
inline RowOf signed_row(RowOf row, HostId signer) {
  if (const auto found = row.row.fields.find(static_cast<std::uint32_t>(FieldId::kIdentity));
      found != row.row.fields.end()) {
    row.row.fields[static_cast<std::uint32_t>(FieldId::kRoll)] =
        roll_field(row.host, record_of(row.host));
  }
  const gossip::testing::StandInSigner owner(signer);
  for (auto& [id, field] : row.row.fields) {
    if (!is_of_authority(id)) {
      field.signature = owner.sign(signed_words(row.host, id, field.version, field.bytes));
    }
  }
  return row;
}
inline RowOf signed_row(RowOf row) {
  const HostId owner = row.host;
  return signed_row(std::move(row), owner);
}

}  // namespace muster::crdt::testing
