#include "crdt/rows/row_check.h"

#include <algorithm>
#include <utility>

#include "crdt/rows/roll.h"
#include "gossip/base/mutant.h"
#include "gossip/wire/wire.h"

namespace muster::crdt {

std::string signed_words(HostId host, std::uint32_t field, const RowVersion& version,
                         std::string_view bytes) {
  gossip::Encoder out;
  // The name keeps these words apart from whatever else the same key signs.
  out.array(6).text("muster row 1").id(host).u64(field);
  out.num(version.generation).num(version.sequence).bytes(bytes);
  return out.take();
}

bool RowChecker::take_key(const RowOf& row, const std::string& known) {
  std::string key = known;
  if (const Field* roll = row.row.field(FieldId::kRoll)) {
    std::optional<RollRecord> record = proven_roll(row.host, *roll, authority_, verifier_);
    if (!record.has_value()) {
      return false;
    }
    key = std::move(record->identity_key);
  }
  if (!key.empty() && (keys_.size() < kKeysMax || keys_.contains(row.host))) {
    keys_[row.host] = std::move(key);
  }
  return true;
}

bool RowChecker::drop_forged(RowOf& row, const std::string& key) const {
  auto& fields = row.row.fields;
  const auto forged = std::find_if(fields.begin(), fields.end(), [&](const auto& entry) {
    const auto& [id, field] = entry;
    return !is_of_authority(id) &&
           !verifier_.verify(key, signed_words(row.host, id, field.version, field.bytes),
                             field.signature);
  });
  const bool is_forged = forged != fields.end();
  fields.erase(forged, fields.end());
  return is_forged;
}

RowsChecked RowChecker::check(RowsToCheck rows) {
  RowsChecked checked;
  checked.from = rows.from;
  checked.route = rows.route;
  std::vector<RowOf> believed;
  for (std::size_t i = 0; i < rows.body.rows.size() && checked.forged == 0; ++i) {
    RowOf& row = rows.body.rows[i];
    if (!take_key(row, i < rows.keys.size() ? rows.keys[i] : "")) {
      checked.forged = 1;
      checked.forged_of = row.host;
      break;
    }
    const auto key = keys_.find(row.host);
    if (key == keys_.end()) {
      checked.keyless.push_back(row.host);
      continue;
    }
    if (drop_forged(row, key->second)) {
      checked.forged = 1;
      checked.forged_of = row.host;
    }
    // Whoever passed the row on may have set it too high, and what is held would be dropped, or too
    // low, and what is over would stay.
    if (!mutant(Mutant::kFullFromBelieved)) {
      row.row.full_from = row.row.version().generation;
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
