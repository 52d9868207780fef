#pragma once
// LedQuorum: host 1 leads a quorum whose other members the test plays. They answer as the test
// says, and time passes as far as they let the leader lead.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "tests/scheduler/raft/one_voter.h"

namespace muster::scheduler {

class LedQuorum : public OneVoter {
 protected:
  /// Leads these and has committed its first entry. `answering`: the members that answer from then.
  void lead(Configuration configuration, std::set<HostId> answering) {
    syncs_at_once = true;
    const std::size_t last_elector = configuration.voters.size() / 2 + 1;
    RecoveredLog log;
    log.snapshot.configuration = std::move(configuration);
    start(std::move(log));
    be_elected(static_cast<std::uint8_t>(last_elector));
    if (!HasFatalFailure()) {
      answering_ = std::move(answering);
      answer();
      ASSERT_TRUE(answering_.empty() || raft->leads_with_own_term_applied());
    }
  }
  void lead(const std::vector<HostId>& voters) {
    lead(founding(voters), std::set<HostId>(voters.begin() + 1, voters.end()));
  }

  /// Voters that answer have all that their disks take.
  void answer() {
    for (const HostId host : answering_) {
      answer_from(host);
    }
  }
  void answer_from(HostId host) {
    const auto stuck = stuck_at_.find(host);
    AppendReply reply;
    reply.term = raft->term();
    reply.request = 1;  // An early one: later ones were answered as well.
    reply.matched = true;
    reply.match = stuck == stuck_at_.end() ? raft->last_index() : stuck->second;
    reply.seat = seats_.contains(host) ? seats_.at(host) : SeatId();
    reply.level = kConfigurationLevel;
    step(Raft::PeerMessage{host, reply});
  }
  /// In steps, so that nobody is silent for longer than half a second but those that are meant to.
  void pass(Duration time) {
    for (const Instant end = now + time; now < end;) {
      wait(std::min<Duration>(end - now, std::chrono::milliseconds(100)));
      answer();
    }
  }
  /// Another host leads in a later term.
  void lose_the_lead_to(HostId host) {
    AppendRequest append;
    append.term = raft->term().next();
    append.previous = {raft->last_index(), raft->term()};
    step(Raft::PeerMessage{host, append});
    ASSERT_EQ(raft->role(), Role::kFollower);
  }

  std::set<HostId> answering_;
  std::map<HostId, LogIndex> stuck_at_;  ///< The most that these have on their disks.
  std::map<HostId, SeatId> seats_;       ///< Voters that answer from another seat.
};

}  // namespace muster::scheduler
