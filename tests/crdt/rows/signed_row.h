#pragma once
// Rows as their owners publish them, signed by the stand-in of tests.

#include <cstdint>
#include <vector>

#include "crdt/rows/codec.h"
#include "crdt/rows/proof.h"
#include "tests/crdt/rows/roll_of.h"
#include "tests/gossip/base/stand_in_keys.h"

namespace muster::crdt::testing {

/// Signs all fields but those of the authority, as one publish.
inline void sign_own_fields(HostId host, Row& row, const gossip::Signer& signer) {
  std::vector<std::uint32_t> own;
  for (const auto& [id, field] : row.fields) {
    if (!is_of_authority(id)) {
      own.push_back(id);
    }
  }
  if (!own.empty()) {
    sign_together(host, own, row, signer);
  }
}

/// Puts the owner's record beside its identity, if there is one, and signs every other field as
/// `signer`.
inline RowOf signed_row(RowOf row, HostId signer) {
  if (const auto found = row.row.fields.find(static_cast<std::uint32_t>(FieldId::kIdentity));
      found != row.row.fields.end()) {
    row.row.fields[static_cast<std::uint32_t>(FieldId::kRoll)] =
        roll_field(row.host, record_of(row.host));
  }
  sign_own_fields(row.host, row.row, gossip::testing::StandInSigner(signer));
  return row;
}
inline RowOf signed_row(RowOf row) {
  const HostId owner = row.host;
  return signed_row(std::move(row), owner);
}

}  // namespace muster::crdt::testing
