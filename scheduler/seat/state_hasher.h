#pragma once
// What a voter tells the others of its state (raft/state_hash.h): which indexes, and how the hash
// of each is made. All voters must choose alike, so both follow from the log alone.
//
// Every kHashPoints-th part of the way from one snapshot to the next is a point. What a point says
// is one of two things. A *deep* hash is of the whole encoded state: it sees any record that is not
// what it should be, whatever made it so, a bit that flipped in memory among it. A *shallow* one
// folds, from the last deep one on, each entry's term and bytes and what it did: that is 0.07 us an
// entry, and sees one that is not the others' or did something else. Of a record that no entry
// touches it sees nothing.
//
// Where a snapshot is due the state is encoded anyway, and every point there is deep for the price
// of hashing the bytes: 2.5 ms for the 42 MB of a state with 10^6 remembered keys, whose encoding
// takes 0.6 s. Elsewhere a point is deep while that is cheap: when the last deep one was at most
// kDeepBytesMax, 1 ms of encoding in a thousand entries. So a small cluster compares all of its
// state every thousand entries and a large one every twenty thousand.
//
// A snapshot is due at every multiple of some number of entries, and as soon as the entries since
// the last one take more bytes than kLogBytesMax and than it: the log is bounded by both.
//
// After a restart the log is applied again from the last snapshot, whose index is that of a deep
// point: the hashes come out as before.

#include <cstdint>
#include <optional>
#include <string_view>

#include "gossip/base/ids.h"
#include "scheduler/raft/state_hash.h"

namespace muster::scheduler {

class State;

/// Raised when State::encode(), State::last_outcome(), the points or what applying an entry does to
/// a state changes: members of different forms are not compared.
inline constexpr std::uint64_t kStateHashForm = 5;
/// Between two snapshots. More: a difference is seen sooner; each point is a comparison.
inline constexpr std::uint64_t kHashPoints = 20;
inline constexpr std::size_t kDeepBytesMax = 256 << 10;
/// Of the entries behind a snapshot. Lower: large commands have the state encoded more often;
/// higher: more memory and disk, and a longer log to read at a start.
inline constexpr std::size_t kLogBytesMax = 64 << 20;

class StateHasher {
 public:
  /// Snapshots are due at the multiples of `snapshot_entries`, which is positive, and behind so
  /// many bytes; both are the same at all voters.
  explicit StateHasher(std::uint64_t snapshot_entries, std::size_t log_bytes = kLogBytesMax)
      : snapshot_entries_(snapshot_entries), log_bytes_max_(log_bytes) {}

  /// A snapshot took the place of the state. Its index was that of a deep point to all voters.
  void restored(const State& state);
  /// The entry at state.applied() was applied; `command` is "" for those that are Raft's own.
  void applied(Term term, std::string_view command, const State& state);

  // Of the entry applied last, until its hash() was taken.
  bool is_point(LogIndex index) const;
  bool is_snapshot_due(LogIndex index) const;
  /// Of a point: it is deep.
  bool is_deep(LogIndex index) const;
  /// After applied() of a point; `encoded` is the whole state where is_deep(), and not looked at
  /// elsewhere.
  StateHash hash(LogIndex index, std::string_view encoded);

 private:
  void anchor(std::string_view encoded);

  std::uint64_t snapshot_entries_;
  std::size_t log_bytes_max_;
  std::size_t log_bytes_ = 0;       ///< Of the commands since the last snapshot.
  std::size_t snapshot_bytes_ = 0;  ///< Of that.
  std::size_t deep_bytes_ = 0;      ///< Of the state at the last deep point.
  std::uint64_t folded_ = 0;
};

}  // namespace muster::scheduler
