#pragma once
// HeldRows holds the rows that this host knows, its own included, with a digest over all. Two hosts
// that hold the same rows have the same digest, whichever way the rows came. Owned by HostStore,
// which alone changes it; Spread and Audit read it.
//
// Invariants
// - No row is ever erased: a pointer from find() stays valid.
// - Between two calls of write_changed() the digests are those of the rows as last written. Right
//   after a call they are those of the rows, and digest() is the XOR of all.

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string_view>

#include "crdt/disk/write_batch.h"
#include "crdt/rows/row.h"
#include "gossip/base/ids.h"
#include "gossip/base/recently_found.h"

namespace muster::crdt {

inline constexpr std::string_view kRowTable = "row/";  ///< In Environment::kState, by host id.

struct HeldRow {
  Row row;
  RowVersion version;        ///< Highest of the row's fields.
  std::uint64_t digest = 0;  ///< XXH3 over host id and row; 0 if the row was never written.
};

class HeldRows {
 public:
  /// Adds a row as it was on disk; `encoded` are its bytes there. Precondition: it is not held.
  void restore(HostId host, Row row, std::string_view encoded);
  /// A row to change; a new, empty one if it is not held yet. Call changed() after a change.
  HeldRow& edit(HostId host) { return rows_[host]; }
  /// The row `held` of `host` was changed: it has a new version and waits to be written.
  void changed(HostId host, HeldRow& held);
  /// Updates the digests of the rows that changed, and adds a write for each, in host id order.
  void write_changed(WriteBatch& writes);

  /// Null if the row is not held.
  const HeldRow* find(HostId host) const { return recent_.find(rows_, host); }
  /// In host id order.
  const std::map<HostId, HeldRow>& all() const { return rows_; }
  std::size_t count() const { return rows_.size(); }
  /// The digest over all rows; 0 if there are no rows.
  std::uint64_t digest() const { return digest_; }

  /// CHECKs each row and digest: as slow as reading all rows. Precondition: no row waits to be
  /// written.
  void check_rows() const;

 private:
  std::map<HostId, HeldRow> rows_;
  mutable RecentlyFound<HeldRow> recent_;
  std::uint64_t digest_ = 0;    ///< XOR of the rows' digests.
  std::set<HostId> unwritten_;  ///< Rows that changed since the last write; each is held.
};

}  // namespace muster::crdt
