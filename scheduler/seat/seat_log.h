#pragma once
// SeatLog: hands committed entries to the scheduler in their order, and hashes the state and
// compacts the log at the points of state_hasher.h. Owned by QuorumSeat, which makes a new one for
// each log that it follows.
//
// Invariant: a seat that is caught up has applied all that was acknowledged before an entry of the
// present term, and all that a leader had said was committed by then; it stays caught up.

#include <cstdint>
#include <vector>

#include "gossip/base/event.h"
#include "scheduler/leader/scheduler.h"
#include "scheduler/raft/raft.h"
#include "scheduler/seat/state_hasher.h"

namespace muster::scheduler {

class SeatLog {
 public:
  /// See SeatOptions::compact_entries.
  explicit SeatLog(std::uint64_t compact_entries) : hasher_(compact_entries) {}

  /// A leader says that all up to `commit` is committed.
  void tell_commit(LogIndex commit);
  /// A snapshot took the place of the state.
  void restored(const State& state) { hasher_.restored(state); }
  /// The next committed entry of `raft`.
  void apply(Instant now, CommittedEntry entry, Raft& raft, Scheduler& scheduler,
             std::vector<Event>& events);

  bool is_caught_up() const { return is_caught_up_; }
  /// Of the entry applied last; 0 before the first.
  Term applied_term() const { return applied_term_; }

 private:
  void look_back(Instant now, Raft& raft, const State& state, std::vector<Event>& events);

  StateHasher hasher_;
  LogIndex told_commit_;  ///< The highest commit index that a leader told.
  Term applied_term_;
  bool is_caught_up_ = false;
};

}  // namespace muster::scheduler
