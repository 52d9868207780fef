#include "scheduler/seat/voter_pace.h"

namespace muster::scheduler {

void VoterPace::own_disk_is_late(Instant now, const Raft& raft) {
  if (raft.commit() == raft.last_index()) {
    own_disk_late_until_ = now + kLateFor;
  }
}

bool VoterPace::is_late(Instant now, const Raft& raft, const MemberLag& voter) {
  Pace& pace = paces_.try_emplace(voter.host, Pace{raft.commit(), now, now}).first->second;
  if (voter.match >= pace.target) {
    pace.target = raft.commit();
    pace.since = now;
  } else if (now - pace.since >= kQuietAfter) {
    pace.late_until = now + kLateFor;
  }
  return now < pace.late_until;
}

std::optional<input::VotersQuiet> VoterPace::look(Instant now, const Raft& raft, HostId self) {
  input::VotersQuiet news;
  const std::vector<MemberLag> lag = raft.lag(now);
  if (lag.empty()) {
    paces_.clear();
  }
  for (const MemberLag& voter : lag) {
    if (!voter.is_voter) {
      continue;
    }
    const bool is_own = voter.host == self;
    if (is_own ? now < own_disk_late_until_ : is_late(now, raft, voter)) {
      news.late.push_back(voter.host);
    }
    // A voter that has not yet answered this leadership at all may be the former leader, frozen.
    if (!is_own && (voter.match == LogIndex() || now - voter.heard_at >= kQuietAfter)) {
      news.hosts.push_back(voter.host);
    }
  }
  if (news.late.size() * 2 >= raft.voters().size()) {
    news.late.clear();  // Most disks are slow: no other voter would be faster.
  }
  if (news == told_) {
    return std::nullopt;
  }
  told_ = news;
  return news;
}

}  // namespace muster::scheduler
