#pragma once
// Election: the election timer, the memory of a live leader (stickiness, thesis 4.2.3) and the
// tally of the running (pre-)vote. Owned by Raft, which keeps the term and the log.

#include <optional>
#include <vector>

#include "gossip/base/rng.h"
#include "scheduler/raft/quorum.h"
#include "scheduler/raft/types.h"

namespace muster::scheduler {

class Election {
 public:
  /// A start counts as having heard a leader: a restarted voter must not help to unseat a live one.
  /// A single voter disturbs nobody and campaigns at once. `self` need not be a voter: Raft decides
  /// whether it may campaign.
  Election(const RaftConfig& config, HostId self, const std::vector<HostId>& voters, Rng rng,
           Instant now);

  /// The configuration changed: these voters count from the next begin() on.
  void set_voters(const std::vector<HostId>& voters);

  Instant deadline() const { return deadline_; }
  /// A leader was heard within the smallest election timeout: votes are refused.
  bool leader_is_fresh(Instant now) const;

  void on_leader_heard(Instant now);
  void on_vote_given(Instant now);
  /// The link to the leader broke: its host is probably gone. The voters campaign soon, one after
  /// the other, and a few times quickly, because the others may learn of it later.
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
  bool voted_upon_ = false;  ///< This host held a vote since it heard a leader.
  std::uint64_t request_ = 0;
  VoteTally tally_;
};

}  // namespace muster::scheduler
