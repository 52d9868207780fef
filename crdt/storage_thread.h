#pragma once
// Commits what must be durable, away from the event loop: an fsync never delays a probe's ack. Owns
// the kId and kRaft stores. Whatever was queued for one environment while the disk was busy becomes
// one transaction, in order (group commit: 8 entries a sync cost what one does).
//
// submit(), take_completed() and failure() belong to the event loop's thread.

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "crdt/lmdb_store.h"
#include "crdt/write_batch.h"
#include "gossip/base/result.h"

namespace muster::crdt {

/// Batches waiting. More means that the disk stalled for minutes: a failure.
inline constexpr std::size_t kStorageQueueMax = 65536;

class StorageThread {
 public:
  struct Stats {
    std::uint64_t batches = 0;       ///< Committed.
    std::uint64_t transactions = 0;  ///< Commits they took.
  };

  /// Starts the thread. CHECKs that the stores are of the environments named.
  StorageThread(std::unique_ptr<LmdbStore> id, std::unique_ptr<LmdbStore> raft);
  /// Commits what is queued, then ends the thread and closes the stores.
  ~StorageThread();
  StorageThread(const StorageThread&) = delete;
  StorageThread& operator=(const StorageThread&) = delete;

  /// Never blocks. `environment` is kId or kRaft. Batches of one environment become durable in the
  /// order submitted; between environments there is no order.
  void submit(std::uint64_t persist_id, Environment environment, WriteBatch batch);
  /// Readable while take_completed() or failure() may have news.
  int fd() const;
  /// Ids whose batches are durable, and makes fd() silent.
  std::vector<std::uint64_t> take_completed();
  /// Set for good by the first commit that failed or by a full queue. Nothing submitted after that
  /// is written or acknowledged: the agent reports it and stops.
  std::optional<Error> failure() const;
  Stats stats() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster::crdt
