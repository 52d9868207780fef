#pragma once
// When a seat last heard its quorum: its leader, and each voter. From it follow how old its answers
// are, who is left when a majority is lost, and the alarm about that. A part of QuorumSeat.
//
// Invariants: what was current was heard, so current_at_ <= heard_leader_at_; one alarm about a
// loss until a leader is heard again, in whatever seat.

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "gossip/base/event.h"
#include "gossip/base/time.h"
#include "scheduler/raft/raft.h"

namespace muster::scheduler {

class QuorumContact {
 public:
  /// A leader that goes is replaced within a second or two; what lasts longer is no election.
  static constexpr Duration kLostAfter = std::chrono::seconds(5);
  /// Some tries of an election. Shorter: one that lost its words is taken for gone.
  static constexpr Duration kVoterHeardWithin = std::chrono::seconds(5);

  /// A seat counts from its beginning.
  void take_seat(Instant now);
  void leave_seat() { voters_heard_.clear(); }
  /// It spoke from the seat that votes.
  void hear_voter(Instant now, HostId voter) { voters_heard_[voter] = now; }
  /// `is_current`: everything that the leader told of was applied here.
  void hear_leader(Instant now, bool is_current);
  /// This host led. What a leader knew is as old as the last word of a majority to it.
  void led_until(Instant last_majority);
  /// After each step of `raft`; `is_left_out`: later news counts this host no voter. What people
  /// should know of a quorum that was lost, or is back.
  std::optional<Event> watch(Instant now, const Raft& raft, bool is_left_out);

  /// Since it last heard a leader and had applied all that this one had committed, or led.
  Duration age(Instant now) const { return now - current_at_; }
  /// Since it last heard a leader, or led.
  Duration leaderless(Instant now) const { return now - heard_leader_at_; }
  /// Of `voters`, those that were heard of late.
  std::size_t heard_of(Instant now, const std::vector<Seat>& voters) const;

 private:
  Instant heard_leader_at_{};
  Instant current_at_{};
  Instant leaderless_since_ = kNever;  ///< As far as this voter saw without a pause.
  bool told_lost_ = false;
  std::map<HostId, Instant> voters_heard_;
};

}  // namespace muster::scheduler
