#pragma once
// StorageThread commits the write batches of an agent in threads of its own, so that neither a
// commit nor an fsync delays the ack of a probe. It owns the three stores. All batches that were
// queued for one environment while the disk was busy become one transaction, in order (group
// commit: a sync of 8 entries costs as much as a sync of one).
//
// Batches of kId and kRaft are durable when they are acknowledged; their first failure ends the
// agent. Batches of kState are not acknowledged, and their commits are synced only every kRowsSync.
// A failed batch of kState is reported and forgotten, because peers have the rows. kState has a
// thread of its own, so that no entry of the log waits for a sync of rows.
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
#include "gossip/base/time_buckets.h"

namespace muster::crdt {

/// Limit of the batches that wait. Above it the disk has stalled for minutes, which is a failure.
inline constexpr std::size_t kStorageQueueMax = 65536;
/// Limit of the batches of kState that wait. A further batch is not stored.
inline constexpr std::size_t kRowsQueueMax = 4096;
/// Time that rows wait for others before they are committed, unsynced. Raised: fewer commits while
/// many hosts have news; lowered: an agent that is killed loses fewer rows, which its peers have.
inline constexpr Duration kRowsGather = std::chrono::milliseconds(100);
/// Limit of the time that rows stay unsynced. Raised: a longer repair after a power loss.
inline constexpr Duration kRowsSync = std::chrono::seconds(5);

class StorageThread {
 public:
  struct Stores {
    std::unique_ptr<LmdbStore> id;
    std::unique_ptr<LmdbStore> raft;
    std::unique_ptr<LmdbStore> state;
  };
  struct Stats {
    std::uint64_t batches = 0;       ///< Batches of kId and kRaft, committed and acknowledged.
    std::uint64_t transactions = 0;  ///< Commits of these batches.
    std::uint64_t rows_syncs = 0;    ///< Syncs of kState.
    TimeBuckets syncs{};             ///< The times of `transactions`.
  };

  /// Starts the threads. Precondition: each store is of the environment that its field names.
  explicit StorageThread(Stores stores, Duration rows_sync = kRowsSync);
  /// Commits the queued batches, syncs the rows, then ends the threads and closes the stores.
  ~StorageThread();
  StorageThread(const StorageThread&) = delete;
  StorageThread& operator=(const StorageThread&) = delete;

  /// Never blocks. Batches of one environment are written in their order; batches of different
  /// environments have no order. `persist_id` of a kState batch is ignored.
  void submit(std::uint64_t persist_id, Environment environment, WriteBatch batch);
  /// A descriptor that is readable while one of the three calls below may have news.
  int fd() const;
  /// The ids of batches that became durable since the last call. Makes fd() unreadable.
  std::vector<std::uint64_t> take_completed();
  /// The last reason why rows were not stored or not synced; each is returned once.
  std::optional<Error> take_rows_error();
  /// The first failed commit of kId or kRaft, or a full queue; set for good. No batch submitted
  /// later is written or acknowledged: the agent reports the failure and stops.
  std::optional<Error> failure() const;
  Stats stats() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster::crdt
