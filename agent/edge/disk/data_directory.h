#pragma once
// The three environments of a data directory as a start finds them, and what a start mends by
// itself: rows that are damaged are dropped (the peers have them), a raft/ that is lost or damaged
// is set aside and the host takes a new seat. A raft/ that was copied and holds a vote stays and is
// silent (raft_home.h). A start never mends a damaged id/: it holds the identity of this host and
// the tokens that it has seen.

#include <memory>
#include <string>

#include "agent/edge/disk/raft_home.h"
#include "agent/step/node_interface.h"
#include "crdt/edge/storage_thread.h"

namespace muster::agent {

class DataDirectory {
 public:
  /// The caller holds its DataLock. kCorrupt: id/ is damaged; the text says how to go on. kDenied:
  /// other users of the machine may read its files or write into `path`; the text says which chmod
  /// ends that. kIo: the system.
  static Result<DataDirectory> open(const std::string& path);

  /// Durable when it returns, and among the recovered records.
  Status commit_id(const crdt::WriteBatch& writes);
  /// Call after the host's key was committed. Checks that `self` voted in this raft/ and that it
  /// takes a write; else sets it aside, and the host has `new_seat` (of real randomness, not zero)
  /// in an empty one. `is_moved`: an operator says that the directory was moved while its agent was
  /// stopped; a copy then votes on. kConflict: raft/ is of another host; the text says how to go
  /// on.
  Status settle(HostId self, SeatId new_seat, bool is_moved = false);

  const Recovered& recovered() const { return recovered_; }

  // Only after the last commit. The records may be hundreds of megabytes.
  Recovered take_recovered() { return std::move(recovered_); }
  crdt::StorageThread::Stores take_stores() { return std::move(stores_); }

 private:
  Status open_raft();
  Status open_state();
  Status replace_raft(const std::string& why);
  Result<RaftHomeWrites> find_home(HostId self) const;
  Status commit_home(const RaftHomeWrites& home);
  Status settle_copy(HostId self, const RaftHomeWrites& home, bool is_moved);

  std::string path_;
  bool is_raft_new_ = false;  ///< An older one was set aside by open().
  crdt::StorageThread::Stores stores_;
  Recovered recovered_;
};

}  // namespace muster::agent
