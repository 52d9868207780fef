#pragma once
// StateHasher: hashes a voter's state for the others (raft/state_hash.h): at which indexes, and by
// which function. Owned by SeatLog. Both follow from the log alone: all voters must choose alike.
//
// Every kHashPoints-th part of the way from one snapshot to the next is a point. A point has one of
// two hashes. A *deep* hash covers the whole encoded state: it finds any wrong record, whatever the
// cause, a bit that flipped in memory included. A *shallow* hash folds, from the last deep one on,
// the term, the bytes and the outcome of each entry: that is 0.07 us an entry, and finds an entry
// that differs or had another outcome. It does not find a wrong record that no entry touches.
//
// Where a snapshot is due the state is encoded anyway, and every point there is deep for the price
// of hashing the bytes: 2.5 ms for the 42 MB of a state with 10^6 remembered keys, whose encoding
// takes 0.6 s. Elsewhere a point is deep while that is cheap: when the last deep one was at most
// kDeepBytesMax, 1 ms of encoding in a thousand entries. A small cluster thus compares all of its
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

/// Raised when State::encode(), State::last_outcome(), the points or the effect of an entry on the
/// state change: members of different forms are not compared.
inline constexpr std::uint64_t kStateHashForm = 7;
/// Between two snapshots. More: a difference is seen sooner; each point is a comparison.
inline constexpr std::uint64_t kHashPoints = 20;
inline constexpr std::size_t kDeepBytesMax = 256 << 10;
/// Bytes of the entries behind a snapshot. Lower: large commands have the state encoded more often.
/// Higher: more memory and disk, and a longer log to read at a start.
inline constexpr std::size_t kLogBytesMax = 64 << 20;

class StateHasher {
 public:
  /// Snapshots are due at the multiples of `snapshot_entries`, which is positive, and behind
  /// `log_bytes` bytes; both are the same at all voters.
  explicit StateHasher(std::uint64_t snapshot_entries, std::size_t log_bytes = kLogBytesMax)
      : snapshot_entries_(snapshot_entries), log_bytes_max_(log_bytes) {}

  /// A snapshot took the place of the state. Its index was that of a deep point to all voters.
  void restored(const State& state);
  /// The entry at state.applied() was applied; `command` is "" for Raft's own entries.
  void applied(Term term, std::string_view command, const State& state);

  // These three ask about the entry applied last, until its hash() was taken.
  bool is_point(LogIndex index) const;
  bool is_snapshot_due(LogIndex index) const;
  /// Precondition: is_point(). True if the hash there is deep.
  bool is_deep(LogIndex index) const;
  /// Call after applied() of a point. `encoded` is the whole state; read only if is_deep().
  StateHash hash(LogIndex index, std::string_view encoded);

 private:
  void anchor(std::string_view encoded);

  std::uint64_t snapshot_entries_;
  std::size_t log_bytes_max_;
  std::size_t log_bytes_ = 0;       ///< Of the commands since the last snapshot.
  std::size_t snapshot_bytes_ = 0;  ///< Of that snapshot.
  std::size_t deep_bytes_ = 0;      ///< Of the state at the last deep point.
  std::uint64_t folded_ = 0;
};

}  // namespace muster::scheduler
