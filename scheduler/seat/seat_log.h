#pragma once
// What the log does to a seat: committed entries go to the scheduler in their order, at the points
// of state_hasher.h what they add up to is told and compacted. A part of QuorumSeat; a new one for
// each log that is followed.
//
// Invariant: who is caught up has applied everything that was acknowledged before an entry of the
// present term, and all that a leader had told of by then; it stays so.

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

  /// A leader says that everything up to `commit` is committed.
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
  LogIndex told_commit_;  ///< The highest that a leader told of.
  Term applied_term_;
  bool is_caught_up_ = false;
};

}  // namespace muster::scheduler
