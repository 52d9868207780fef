#include "crdt/store/held_rows.h"

#include <string>
#include <utility>

#include <xxhash.h>

#include "gossip/base/check.h"

namespace muster::crdt {
namespace {

std::string row_key(HostId host) {
  return std::string(kRowTable) + std::string(host.bytes());
}

std::uint64_t digest_of(HostId host, std::string_view encoded) {
  const std::uint64_t seed = host.prefix();
  return XXH3_64bits_withSeed(encoded.data(), encoded.size(), seed);
}

}  // namespace

void HeldRows::restore(HostId host, Row row, std::string_view encoded) {
  const RowVersion version = row.version();
  const std::uint64_t digest = digest_of(host, encoded);
  const bool is_new = rows_.emplace(host, HeldRow{std::move(row), version, digest}).second;
  CHECK(is_new);
  digest_ ^= digest;
}

void HeldRows::changed(HostId host, HeldRow& held) {
  held.version = held.row.version();
  unwritten_.insert(host);
}

void HeldRows::write_changed(WriteBatch& writes) {
  for (const HostId& host : unwritten_) {
    HeldRow& held = rows_[host];
    std::string encoded = encode_row(held.row);
    digest_ ^= held.digest;
    held.digest = digest_of(host, encoded);
    digest_ ^= held.digest;
    writes.push_back({row_key(host), std::move(encoded)});
  }
  unwritten_.clear();
}

void HeldRows::check_rows() const {
  std::uint64_t digest = 0;
  for (const auto& [host, held] : rows_) {
    CHECK(held.row.fields.size() <= kRowFieldsMax);
    CHECK(held.version == held.row.version());
    CHECK(held.digest == digest_of(host, encode_row(held.row)) || held.row == Row());
    digest ^= held.digest;
  }
  CHECK(digest == digest_);
}

}  // namespace muster::crdt
