#pragma once
// KnownQuorum: the voters, the leader and the epoch, as far as this host knows: from its own seat
// while that is trusted, else from the rows that voters publish. Owned by QuorumSeat. It also keeps
// the view that this leader last told others.
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

  /// The epoch that this host obeys; that of its log if it has one.
  const ClusterEpoch& epoch() const { return epoch_; }
  /// Forgets the rows heard and the view told: they are of another epoch.
  void begin_epoch(const ClusterEpoch& epoch);
  /// A voter's row.
  void hear(const crdt::QuorumView& view);

  /// The newest row, if any, is not older than `raft` and does not list this host as a voter.
  bool leaves_out(const Raft& raft) const;
  // `raft` is that of this host; null on one without a seat.
  /// True if a leader of the newest term known speaks to this host, or if this host votes and no
  /// later row leaves it out.
  bool trusts(const Raft* raft) const;
  HostId leader(const Raft* raft) const { return trusts(raft) ? raft->leader() : heard_.leader; }
  Term term(const Raft* raft) const { return trusts(raft) ? raft->term() : heard_.term; }
  crdt::QuorumView view(const Raft* raft) const;
  /// The term of the newest row.
  Term heard_term() const { return heard_.term; }

  /// The view that this leader should tell others, with the version of its list of users. nullopt
  /// if it is the same as last time.
  std::optional<crdt::QuorumView> take_news(const Raft& leading, std::uint64_t users);

 private:
  HostId self_;
  ClusterEpoch epoch_;
  crdt::QuorumView heard_;  ///< From rows of voters.
  crdt::QuorumView told_;   ///< The last result of take_news().
};

}  // namespace muster::scheduler
