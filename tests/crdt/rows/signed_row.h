#pragma once
// Rows as their owners say them, signed by the stand-in of tests.

#include <string>

#include "crdt/rows/codec.h"
#include "crdt/rows/row_check.h"
#include "tests/gossip/base/stand_in_keys.h"

namespace muster::crdt::testing {

/// Puts the owner's key into the identity, if there is one, and signs every field as `signer`.
inline RowOf signed_row(RowOf row, HostId signer) {
  if (auto found = row.row.fields.find(static_cast<std::uint32_t>(FieldId::kIdentity));
      found != row.row.fields.end()) {
    if (auto identity = decode_identity(found->second.bytes)) {
      identity->key = std::string(signer.bytes());
      found->second.bytes = encode(*identity);
    }
  }
  const gossip::testing::StandInSigner owner(signer);
  for (auto& [id, field] : row.row.fields) {
    field.signature = owner.sign(signed_words(row.host, id, field.version, field.bytes));
  }
  return row;
}
inline RowOf signed_row(RowOf row) {
  const HostId owner = row.host;
  return signed_row(std::move(row), owner);
}

}  // namespace muster::crdt::testing
