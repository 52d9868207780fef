#pragma once
// When to campaign, and how the votes stand. Holds the election timer, the memory of a live leader
// (stickiness, thesis 4.2.3) and the tally of the running (pre-)vote; terms and the log belong to
// the machine.

#include <optional>
#include <vector>

#include "gossip/base/rng.h"
#include "scheduler/raft/quorum.h"
#include "scheduler/raft/types.h"

namespace muster::scheduler {

class Election {
 public:
  /// A start counts as having heard a leader: a restarted voter must not help to unseat a live one.
  /// A single voter has nobody to disturb and campaigns at once. `self` need not be a voter:
  /// whether it may campaign is the machine's question.
  Election(const RaftConfig& config, HostId self, const std::vector<HostId>& voters, Rng rng,
           Instant now);

  /// Another configuration: from the next begin() on these count.
  void set_voters(const std::vector<HostId>& voters);

  Instant deadline() const { return deadline_; }
  /// A leader was heard within the smallest election timeout: votes are refused.
  bool leader_is_fresh(Instant now) const;

  void on_leader_heard(Instant now);
  void on_vote_given(Instant now);
  /// The link to the leader broke: its host is probably gone. The voters campaign soon, one after
  /// the other, and a few times quickly, because the others may learn of it later than we do.
  void on_leader_link_reset(Instant now);
  /// Back to waiting, without having heard a leader.
  void rest(Instant now);

  /// A new pre-vote: an empty tally, a new timer. Returns its request number.
  std::uint64_t begin(Instant now);
  /// The same for a vote. A majority has just said that it would vote, so the first one since a
  /// leader was heard fails only if two split it: its timer is short.
  std::uint64_t begin_vote(Instant now);
  /// Counts an answer to the running vote; answers to older ones are ignored.
  VoteOutcome record(HostId voter, std::uint64_t request, bool granted);

 private:
  Duration random_timeout();
  std::uint64_t begin_until(Instant deadline);

  RaftConfig config_;
  HostId self_;
  std::size_t rank_ = 0;  ///< Own place among the voters.
  std::size_t voter_count_ = 0;
  Rng rng_;
  Instant deadline_;
  std::optional<Instant> leader_heard_at_;
  std::uint32_t quick_rounds_left_ = 0;
  bool voted_upon_ = false;  ///< There was a vote of ours since a leader was heard.
  std::uint64_t request_ = 0;
  VoteTally tally_;
};

}  // namespace muster::scheduler
