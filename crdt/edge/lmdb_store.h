#pragma once
// LmdbStore is one environment (directory) of an agent's data in LMDB. Only lmdb_store.cc includes
// lmdb. Values are sealed, and each transaction also writes the root record (count and digest of
// all records): a lost, doubled or damaged record shows at the next open.
//
// Durability: kId and kRaft are synced at every commit; kState is not and is rebuilt from peers
// when damaged. WRITEMAP is never used: with it a full disk is a SIGBUS.
//
// LMDB's header pages have no checksum. Therefore each transaction also writes its number as a
// record, and a header with another number is damaged; two headers whose numbers are not neighbours
// are damaged, too.
//
// One thread at a time uses a store. The caller holds the DataLock of the directory above.

#include <cstdint>
#include <memory>
#include <string>

#include "crdt/disk/write_batch.h"
#include "gossip/base/result.h"

namespace muster::crdt {

/// LMDB's limit on a key.
inline constexpr std::size_t kKeyBytesMax = 511;

class LmdbStore {
 public:
  struct Options {
    /// Limit of the map, in address space: it takes memory and disk only as records are written. If
    /// the map is full, commit() fails and changes nothing.
    std::uint64_t map_bytes = std::uint64_t{1} << 30;
    /// Whether commit() returns only when the disk has the batch.
    bool sync = true;
  };
  /// 64 MiB for kId, 256 GiB for kRaft, 1 GiB for kState; only kState is not synced.
  static Options defaults(Environment environment);

  /// Makes the directory (mode 0700) if it does not exist. Reads and checks each record, first in a
  /// child process, because a damaged page can crash its reader.
  /// kCorrupt: the environment is damaged; the text names the directory and how to go on (kState:
  /// the caller discards it and opens again). kConflict: this process has it open. kIo: the system
  /// refused.
  static Result<std::unique_ptr<LmdbStore>> open(const std::string& path, Environment environment,
                                                 Options options);
  static Result<std::unique_ptr<LmdbStore>> open(const std::string& path, Environment environment) {
    return open(path, environment, defaults(environment));
  }
  /// Deletes an environment that is not open; one that does not exist is fine.
  static Status discard(const std::string& path);

  ~LmdbStore();
  LmdbStore(const LmdbStore&) = delete;
  LmdbStore& operator=(const LmdbStore&) = delete;

  /// The records at open. Moves them out: the second call returns no records.
  Records recovered();
  /// Writes the whole batch, in order, or no part of it; an empty batch has no effect.
  /// Precondition: keys have 1 to kKeyBytesMax bytes and are neither kRootKey nor of the table
  /// "txn/". kIo: the store is unchanged as far as LMDB can tell; a full disk is kIo, too.
  /// kCorrupt: pages that only writes need are damaged, and no commit will succeed.
  Status commit(const WriteBatch& batch);
  /// Drops all records and goes on with an empty environment.
  Status clear();
  /// Syncs a store that does not sync its commits: StorageThread calls it after kRowsSync and at
  /// the end.
  Status sync();
  Environment environment() const;

 private:
  class Impl;
  explicit LmdbStore(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster::crdt
