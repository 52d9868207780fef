#pragma once
// HeldRows: every row that this host holds, its own among them, with a digest over all. Two hosts
// that hold the same have the same digest, whatever way the rows came. Owned by HostStore, which
// alone changes it; Spread and Audit read it.
//
// Invariants
// - No row is ever erased: what find() returned stays where it is.
// - Between two calls of write_changed() the digests are those of the rows as last written; after
//   it they are those of the rows, and digest() is the XOR of all.

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
  std::uint64_t digest = 0;  ///< XXH3 over host id and row; 0 for one that was never written.
};

class HeldRows {
 public:
  /// A row as it was on disk; `encoded` are its bytes there. Precondition: it is not held.
  void restore(HostId host, Row row, std::string_view encoded);
  /// To change a row: an empty one when it is not held yet. changed() has to follow a change.
  HeldRow& edit(HostId host) { return rows_[host]; }
  /// `held`, which is that of `host`, was changed: it has a new version and waits to be written.
  void changed(HostId host, HeldRow& held);
  /// Rows that changed get their digest, and a write each, in host id order.
  void write_changed(WriteBatch& writes);

  /// Null when it is not held.
  const HeldRow* find(HostId host) const { return recent_.find(rows_, host); }
  /// In host id order.
  const std::map<HostId, HeldRow>& all() const { return rows_; }
  std::size_t count() const { return rows_.size(); }
  /// Over all rows; 0 when empty.
  std::uint64_t digest() const { return digest_; }

  /// CHECKs every row and digest: as slow as reading everything. Precondition: nothing waits to be
  /// written.
  void check_rows() const;

 private:
  std::map<HostId, HeldRow> rows_;
  mutable RecentlyFound<HeldRow> recent_;
  std::uint64_t digest_ = 0;    ///< XOR of the rows' digests.
  std::set<HostId> unwritten_;  ///< Changed and not written yet; each is held.
};

}  // namespace muster::crdt
