#pragma once
// One environment (directory) of an agent's data in LMDB. The only place that knows lmdb. Values
// are sealed, and the root record (count and digest of all records) moves in the same transaction,
// so a lost, doubled or damaged record shows at the next open.
//
// Durability: kId and kRaft are synced at every commit; kState is not and is rebuilt from peers
// when damaged. WRITEMAP is never used: with it a full disk is a SIGBUS.
//
// LMDB's header pages carry no checksum: each transaction also writes its number as a record, and a
// header that names another one is damage. So are two headers whose numbers are not neighbours.
//
// A store is used by one thread at a time. The caller holds the DataLock of the directory above.

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
    /// Address space the map may grow to; costs none of memory or disk until used. A full map fails
    /// commits and leaves the store as it was.
    std::uint64_t map_bytes = std::uint64_t{1} << 30;
    /// Whether commit() returns only when the disk has it.
    bool sync = true;
  };
  /// 1 GiB for kRaft and kState, 64 MiB for kId; only kState is not synced.
  static Options defaults(Environment environment);

  /// Makes the directory (mode 0700) when there is none; reads and checks every record, first in a
  /// child process, because a damaged page can crash its reader.
  /// kCorrupt: what is stored is damaged; the text names the directory and how to go on (kState:
  /// the caller discards it and opens again). kConflict: open already in this process. kIo: the
  /// system.
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

  /// What was stored when it was opened. Moves it out: empty the second time.
  Records recovered();
  /// All of it or nothing, in order; an empty batch does nothing. Keys have 1 to kKeyBytesMax bytes
  /// and are neither kRootKey nor of the table "txn/" (CHECKed). kIo: nothing was changed as far as
  /// LMDB can tell; a full disk is kIo as well. kCorrupt: pages that only writing needs are
  /// damaged, so no commit will succeed.
  Status commit(const WriteBatch& batch);
  /// Drops everything that is stored and goes on empty.
  Status begin_anew();
  /// For a store that does not sync its commits: every 5 s and at shutdown.
  Status sync();
  Environment environment() const;

 private:
  class Impl;
  explicit LmdbStore(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster::crdt
