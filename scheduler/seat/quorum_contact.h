#pragma once
// QuorumContact: when a seat last heard its leader and each voter. Owned by QuorumSeat. It gives
// the age of the seat's answers, the voters left without a majority, and the alarm about that.
//
// Invariants: current_at_ <= heard_leader_at_; one alarm about a loss until a leader is heard
// again, in whatever seat.

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
  /// A dead leader is replaced within a second or two; a longer time without one is no election.
  static constexpr Duration kLostAfter = std::chrono::seconds(5);
  /// Some tries of an election. Shorter: a voter whose messages were lost is taken for gone.
  static constexpr Duration kVoterHeardWithin = std::chrono::seconds(5);

  /// A seat counts from its beginning.
  void take_seat(Instant now);
  void leave_seat() { voters_heard_.clear(); }
  /// `voter` spoke from the seat that votes.
  void hear_voter(Instant now, HostId voter) { voters_heard_[voter] = now; }
  /// `is_current`: this host applied all that the leader said was committed.
  void hear_leader(Instant now, bool is_current);
  /// This host led. The knowledge of a leader is as old as the last answer of a majority.
  void led_until(Instant last_majority);
  /// Call after each step of `raft`. `is_left_out`: later news counts this host no voter. Returns
  /// an event if the quorum was lost, or is back.
  std::optional<Event> watch(Instant now, const Raft& raft, bool is_left_out);

  /// Since it last heard a leader and had applied all that this one had committed, or led.
  Duration age(Instant now) const { return now - current_at_; }
  /// Since it last heard a leader, or led.
  Duration leaderless(Instant now) const { return now - heard_leader_at_; }
  /// The number of `voters` heard within kVoterHeardWithin.
  std::size_t heard_of(Instant now, const std::vector<Seat>& voters) const;

 private:
  Instant heard_leader_at_{};
  Instant current_at_{};
  Instant leaderless_since_ = kNever;  ///< As far as this voter saw without a pause.
  bool told_lost_ = false;
  std::map<HostId, Instant> voters_heard_;
};

}  // namespace muster::scheduler
