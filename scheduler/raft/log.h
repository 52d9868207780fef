#pragma once
// RaftLog: a voter's log in memory, and the part of it that is on disk. Owned by Raft. Every change
// appends its writes to a batch of the caller; no entry is durable before its batch number returns.
//
//   start ........ snapshot.at ........ durable ........ last
//         entries kept for slow followers, then entries not yet compacted
//
// Invariants: start <= snapshot.at <= last; durable <= last; terms never fall along the log.

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "crdt/disk/write_batch.h"
#include "scheduler/raft/types.h"

namespace muster::scheduler {

class RaftLog {
 public:
  /// A recovered entry is durable. Moves the snapshot and the entries out of `recovered`.
  explicit RaftLog(RecoveredLog& recovered);

  LogPosition last() const;
  LogPosition start() const { return start_; }
  const Snapshot& snapshot() const { return *snapshot_; }
  /// The same, kept alive by its holder: parts of it are sent while newer snapshots are made.
  std::shared_ptr<const Snapshot> shared_snapshot() const { return snapshot_; }
  /// The newest configuration of this log, and its entry's index (0: older than the snapshot).
  const Configuration& configuration() const { return configurations_.newest(); }
  const Configuration& configuration_at(LogIndex index) const { return configurations_.at(index); }
  LogIndex configuration_index() const { return configurations_.newest_index(); }
  /// The term at `index`. nullopt outside [start, last].
  std::optional<Term> term_at(LogIndex index) const;
  bool holds(LogPosition position) const { return term_at(position.index) == position.term; }
  /// Precondition: start < index <= last.
  const LogEntry& entry(LogIndex index) const;
  /// Entries from `first` on: at least one if there is one, then within both limits.
  std::vector<LogEntry> slice(LogIndex first, std::size_t bytes_max, std::size_t count_max) const;
  /// True if a log that ends at `other` is at least as up to date as this one (5.4.1).
  bool up_to_date(LogPosition other) const;
  /// The last place at or before position.index whose term is at most position.term. A follower
  /// that lacks the leader's `previous` answers with it, and the leader continues at its own such
  /// place: each refusal passes over a whole term (5.3).
  LogPosition last_not_after(LogPosition position) const;

  /// Precondition: the command of a kConfiguration decodes.
  void append(LogEntry entry, crdt::WriteBatch& batch);
  /// Removes `first` and everything behind it. Precondition: first > snapshot.at.index.
  void truncate_from(LogIndex first, crdt::WriteBatch& batch);
  /// `state` replaces the entries up to `at`, of which the last stay readable, within both limits.
  void compact(LogIndex at, std::string state, std::size_t count_kept, std::size_t bytes_kept,
               crdt::WriteBatch& batch);
  /// A leader's snapshot. Entries behind it stay if the log holds its last entry, else all go.
  void install(Snapshot snapshot, crdt::WriteBatch& batch);

  /// Appends the erasure of all records of this log.
  void erase_all(crdt::WriteBatch& batch) const;

  /// The batch that makes the log as it is now durable has this number.
  void note_batch(std::uint64_t batch);
  /// All batches up to `batch` are durable.
  void persisted(std::uint64_t batch);
  LogIndex durable() const { return LogIndex(durable_); }

  void check_invariants() const;

 private:
  struct Pending {
    std::uint64_t batch = 0;
    std::uint64_t last_index = 0;  ///< Lowered by a later truncation: those entries are gone.
  };

  std::uint64_t last_index() const { return start_.index.value() + entries_.size(); }
  void note_configuration(LogIndex index, const LogEntry& entry);
  void drop_front(std::uint64_t up_to, crdt::WriteBatch& batch);
  std::uint64_t before_kept(LogIndex at, std::size_t count, std::size_t bytes) const;
  void lower_durable(std::uint64_t to);
  void write_snapshot(crdt::WriteBatch& batch) const;

  LogPosition start_;
  std::shared_ptr<const Snapshot> snapshot_;
  ConfigurationHistory configurations_;
  std::deque<LogEntry> entries_;
  std::uint64_t durable_ = 0;
  std::deque<Pending> pending_;
};

}  // namespace muster::scheduler
