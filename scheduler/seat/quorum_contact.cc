#include "scheduler/seat/quorum_contact.h"

#include <algorithm>
#include <string>

namespace muster::scheduler {

void QuorumContact::take_seat(Instant now) {
  heard_leader_at_ = now;
  current_at_ = now;
}

void QuorumContact::hear_leader(Instant now, bool is_current) {
  heard_leader_at_ = now;
  current_at_ = is_current ? now : current_at_;
}

void QuorumContact::led_until(Instant last_majority) {
  heard_leader_at_ = std::max(heard_leader_at_, last_majority);
  current_at_ = std::max(current_at_, last_majority);
}

std::optional<Event> QuorumContact::watch(Instant now, const Raft& raft, bool is_left_out) {
  // A voter that was replaced while it was off hears no leader, and has lost no quorum.
  const bool is_leaderless = raft.is_voter() && raft.leader().is_zero() && !is_left_out;
  leaderless_since_ = is_leaderless ? std::min(leaderless_since_, now) : kNever;
  const bool is_lost = is_leaderless && now - leaderless_since_ >= kLostAfter;
  if (is_lost == told_lost_) {
    return std::nullopt;
  }
  told_lost_ = is_lost;
  if (!is_lost && raft.leader().is_zero()) {
    return std::nullopt;
  }
  if (!is_lost) {
    return Event{Severity::kInfo, "quorum_reached", {}};
  }
  return Event{Severity::kAlarm,
               "quorum_unreachable",
               {{"voters", std::to_string(raft.voters().size())},
                {"advice",
                 "running jobs go on, but this voter accepts and places nothing: ask the other "
                 "voters with muster quorum --node"}}};
}

std::size_t QuorumContact::heard_of(Instant now, const std::vector<Seat>& voters) const {
  return static_cast<std::size_t>(
      std::count_if(voters.begin(), voters.end(), [&](const Seat& voter) {
        const auto at = voters_heard_.find(voter.host);
        return at != voters_heard_.end() && now - at->second < kVoterHeardWithin;
      }));
}

}  // namespace muster::scheduler
