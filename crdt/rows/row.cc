#include "crdt/rows/row.h"

#include <algorithm>

#include "crdt/rows/roll.h"
#include "gossip/base/generation.h"
#include "gossip/base/signing.h"

namespace muster::crdt {

RowVersion Row::version() const {
  RowVersion highest;
  for (const auto& [id, field] : fields) {
    if (!is_of_authority(id)) {
      highest = std::max(highest, field.version);
    }
  }
  return highest;
}

const Field* Row::field(FieldId id) const {
  const auto found = fields.find(static_cast<std::uint32_t>(id));
  return found == fields.end() ? nullptr : &found->second;
}

std::vector<std::uint32_t> join(Row& row, const Row& other) {
  std::vector<std::uint32_t> changed;
  row.full_from = std::max(row.full_from, other.full_from);
  for (auto it = row.fields.begin(); it != row.fields.end();) {
    if (it->second.version.generation < row.full_from && !is_of_authority(it->first)) {
      changed.push_back(it->first);
      it = row.fields.erase(it);
    } else {
      ++it;
    }
  }
  for (const auto& [id, field] : other.fields) {
    if (field.version.generation < row.full_from && !is_of_authority(id)) {
      continue;
    }
    const auto [mine, is_new] = row.fields.try_emplace(id, field);
    if (is_new || mine->second < field) {
      mine->second = field;
      changed.push_back(id);
    }
  }
  std::sort(changed.begin(), changed.end());
  changed.erase(std::unique(changed.begin(), changed.end()), changed.end());
  return changed;
}

void write_row(gossip::Encoder& out, const Row& row) {
  std::vector<std::string_view> proofs;
  const auto place_of = [&](std::string_view proof) {
    return static_cast<std::size_t>(std::find(proofs.begin(), proofs.end(), proof) -
                                    proofs.begin());
  };
  for (const auto& [id, field] : row.fields) {
    if (place_of(field.proof) == proofs.size()) {
      proofs.push_back(field.proof);
    }
  }
  out.num(row.full_from).array(proofs.size());
  for (const std::string_view proof : proofs) {
    out.bytes(proof);
  }
  out.map(row.fields.size());
  for (const auto& [id, field] : row.fields) {
    out.u64(id).array(4).num(field.version.generation).num(field.version.sequence);
    out.bytes(field.bytes).u64(place_of(field.proof));
  }
}

std::string encode_row(const Row& row) {
  gossip::Encoder out;
  out.array(3);
  write_row(out, row);
  return out.take();
}

Row read_row(gossip::Reader& in) {
  Row row;
  row.full_from = Generation(in.u64_at_most(kGenerationMax));
  std::vector<std::string> proofs;
  gossip::Reader listed = in.array_at_most(kRowFieldsMax);
  while (listed.ok() && listed.left() > 0) {
    proofs.push_back(listed.text(kProofBytesMax));
  }
  gossip::Reader fields = in.map();
  if (fields.size() > kRowFieldsMax) {
    fields.fail();
  }
  while (fields.ok() && fields.left() > 0) {
    const auto id = static_cast<std::uint32_t>(fields.u64_at_most(UINT32_MAX));
    gossip::Reader parts = fields.array();
    Field field;
    field.version.generation = Generation(parts.u64_at_most(kGenerationMax));
    field.version.sequence = Sequence(parts.u64_at_most(kVersionMax));
    field.bytes = parts.text(kFieldBytesMax);
    const std::uint64_t proof = parts.u64();
    if (proof >= proofs.size()) {
      fields.fail();
      break;
    }
    field.proof = proofs[proof];
    row.fields.insert_or_assign(id, std::move(field));
  }
  return row;
}

std::optional<Row> decode_row(std::string_view bytes) {
  Result<gossip::Document> document = gossip::Document::parse(std::string(bytes));
  if (!document) {
    return std::nullopt;
  }
  gossip::Reader in = document->root();
  Row row = read_row(in);
  if (!in.ok()) {
    return std::nullopt;
  }
  return row;
}

}  // namespace muster::crdt
