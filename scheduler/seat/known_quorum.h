#pragma once
// Who votes and who leads, as far as this host knows: from its own seat while that is to be
// trusted, else from the rows that voters publish. It also knows under which epoch, and what this
// leader told others of it. A part of QuorumSeat.
//
// Invariants: the rows that count are of the epoch that is obeyed; the term of the newest never
// falls within it, and within a term the leader's own row alone speaks.

#include <optional>

#include "crdt/rows/host_state.h"
#include "gossip/base/ids.h"
#include "scheduler/raft/raft.h"

namespace muster::scheduler {

class KnownQuorum {
 public:
  explicit KnownQuorum(HostId self) : self_(self) {}

  /// Obeyed on this host; that of its log, where it has one.
  const ClusterEpoch& epoch() const { return epoch_; }
  /// Nothing is known of it yet, and nothing told.
  void begin_epoch(const ClusterEpoch& epoch);
  /// A voter's row.
  void hear(const crdt::QuorumView& view);

  /// The newest row, if any, counts this host no voter: it is none any more, or not yet.
  bool leaves_out(const Raft& raft) const;
  // `raft` is that of this host; null on one without a seat.
  /// Whose leader speaks to it knows best, then a voter. Not so one that later news leaves out.
  bool trusts(const Raft* raft) const;
  HostId leader(const Raft* raft) const { return trusts(raft) ? raft->leader() : heard_.leader; }
  Term term(const Raft* raft) const { return trusts(raft) ? raft->term() : heard_.term; }
  crdt::QuorumView view(const Raft* raft) const;
  /// Of the newest row.
  Term heard_term() const { return heard_.term; }

  /// The view that others should hear of this leader, when it is another than last time.
  std::optional<crdt::QuorumView> take_news(const Raft& leading);

 private:
  HostId self_;
  ClusterEpoch epoch_;
  crdt::QuorumView heard_;  ///< From rows of voters.
  crdt::QuorumView told_;   ///< What take_news() said last.
};

}  // namespace muster::scheduler
