#pragma once
// Everything an agent writes to its disk, away from the event loop: neither a commit nor an fsync
// ever delays a probe's ack. Owns the three stores. Whatever was queued for one environment while
// the disk was busy becomes one transaction, in order (group commit: 8 entries a sync cost what one
// does).
//
// kId and kRaft are durable when acknowledged, and their first failure is the end. kState is
// acknowledged to nobody: its commits are not synced, they are synced now and then, and what could
// not be written is told and forgotten, because peers have it. It has a thread of its own, so that
// no entry of the log waits for a sync of rows.
//
// submit(), take_completed(), take_rows_error() and failure() belong to the event loop's thread.

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "crdt/disk/write_batch.h"
#include "crdt/edge/lmdb_store.h"
#include "gossip/base/result.h"
#include "gossip/base/time.h"

namespace muster::crdt {

/// Batches waiting. More means that the disk stalled for minutes: a failure.
inline constexpr std::size_t kStorageQueueMax = 65536;
/// Batches of kState waiting. One more is not stored.
inline constexpr std::size_t kRowsQueueMax = 4096;
/// How long rows wait for company before they are committed, unsynced. Raised: fewer commits while
/// many hosts have news; lowered: an agent that is killed forgets less of what its peers know.
inline constexpr Duration kRowsGather = std::chrono::milliseconds(100);
/// How long rows stay unsynced at most; more costs a longer repair after a power loss.
inline constexpr Duration kRowsSync = std::chrono::seconds(5);

class StorageThread {
 public:
  struct Stores {
    std::unique_ptr<LmdbStore> id;
    std::unique_ptr<LmdbStore> raft;
    std::unique_ptr<LmdbStore> state;
  };
  struct Stats {
    std::uint64_t batches = 0;       ///< Committed and acknowledged.
    std::uint64_t transactions = 0;  ///< Commits they took.
    std::uint64_t rows_syncs = 0;    ///< Of kState.
  };

  /// Starts the threads. CHECKs that the stores are of the environments named.
  explicit StorageThread(Stores stores, Duration rows_sync = kRowsSync);
  /// Commits what is queued, syncs the rows, then ends the threads and closes the stores.
  ~StorageThread();
  StorageThread(const StorageThread&) = delete;
  StorageThread& operator=(const StorageThread&) = delete;

  /// Never blocks. Batches of one environment are written in the order submitted; between
  /// environments there is no order. `persist_id` of a kState batch means nothing.
  void submit(std::uint64_t persist_id, Environment environment, WriteBatch batch);
  /// Readable while one of the three below may have news.
  int fd() const;
  /// Ids whose batches are durable, and makes fd() silent.
  std::vector<std::uint64_t> take_completed();
  /// Why rows were last not stored or not synced, told once.
  std::optional<Error> take_rows_error();
  /// Set for good by the first commit of kId or kRaft that failed or by a full queue. Nothing
  /// submitted after that is written or acknowledged: the agent reports it and stops.
  std::optional<Error> failure() const;
  Stats stats() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster::crdt
