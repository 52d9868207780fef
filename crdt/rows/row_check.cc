#include "crdt/rows/row_check.h"

#include <algorithm>
#include <utility>

#include "gossip/base/mutant.h"
#include "gossip/wire/wire.h"

namespace muster::crdt {
namespace {

/// The one known here, or the one in the row when its hash is the host's id; "" = none.
std::string key_of(const RowOf& row, const std::string& known, const gossip::Verifier& verifier) {
  if (!known.empty()) {
    return known;
  }
  const Field* field = row.row.field(FieldId::kIdentity);
  const auto identity = field == nullptr ? std::nullopt : decode_identity(field->bytes);
  if (!identity.has_value() || identity->key.empty()) {
    return "";
  }
  const bool is_own =
      verifier.host_of(identity->key) == row.host || mutant(Mutant::kRowKeyBelieved);
  return is_own ? identity->key : "";
}

/// Drops the fields that are not of that key; how many.
std::uint64_t drop_forged(RowOf& row, const std::string& key, const gossip::Verifier& verifier) {
  const std::uint64_t forged = std::erase_if(row.row.fields, [&](const auto& entry) {
    const auto& [id, field] = entry;
    return !verifier.verify(key, signed_words(row.host, id, field.version, field.bytes),
                            field.signature);
  });
  if (row.row.full_from > row.row.version().generation && !mutant(Mutant::kFullFromBelieved)) {
    row.row.full_from = Generation();
  }
  return forged;
}

}  // namespace

std::string signed_words(HostId host, std::uint32_t field, const RowVersion& version,
                         std::string_view bytes) {
  gossip::Encoder out;
  // The name keeps these words apart from whatever else the same key signs.
  out.array(6).text("muster row 1").id(host).u64(field);
  out.num(version.generation).num(version.sequence).bytes(bytes);
  return out.take();
}

RowsChecked check_rows(RowsToCheck rows, const gossip::Verifier& verifier) {
  RowsChecked checked;
  checked.from = rows.from;
  checked.route = rows.route;
  std::vector<RowOf> believed;
  for (std::size_t i = 0; i < rows.body.rows.size(); ++i) {
    RowOf& row = rows.body.rows[i];
    const std::string key = key_of(row, i < rows.keys.size() ? rows.keys[i] : "", verifier);
    if (key.empty()) {
      checked.keyless.push_back(row.host);
      continue;
    }
    if (const std::uint64_t forged = drop_forged(row, key, verifier); forged > 0) {
      checked.forged += forged;
      checked.forged_of = row.host;
    }
    if (!row.row.fields.empty() || mutant(Mutant::kFullFromBelieved)) {
      believed.push_back(std::move(row));
    }
  }
  checked.body = std::move(rows.body);
  checked.body.rows = std::move(believed);
  return checked;
}

}  // namespace muster::crdt
