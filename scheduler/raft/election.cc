#include "scheduler/raft/election.h"

#include <algorithm>

namespace muster::scheduler {
namespace {

/// Campaigns in quick succession after a reset link, and their distance. The others notice the dead
/// leader within a few round trips or not at all.
constexpr std::uint32_t kQuickRounds = 4;
constexpr Duration kQuickMin = std::chrono::milliseconds(150);
constexpr Duration kQuickMax = std::chrono::milliseconds(300);

}  // namespace

Election::Election(const RaftConfig& config, HostId self, const std::vector<HostId>& voters,
                   Rng rng, Instant now)
    : config_(config), self_(self), rng_(rng), leader_heard_at_(now) {
  set_voters(voters);
  deadline_ = voter_count_ == 1 ? now : now + random_timeout();
}

void Election::set_voters(const std::vector<HostId>& voters) {
  voter_count_ = voters.size();
  rank_ = static_cast<std::size_t>(std::find(voters.begin(), voters.end(), self_) - voters.begin());
}

Duration Election::random_timeout() {
  return rng_.between(config_.election_timeout_min, config_.election_timeout_max);
}

bool Election::leader_is_fresh(Instant now) const {
  return leader_heard_at_.has_value() && now - *leader_heard_at_ < config_.election_timeout_min;
}

void Election::on_leader_heard(Instant now) {
  leader_heard_at_ = now;
  quick_rounds_left_ = 0;
  voted_upon_ = false;
  deadline_ = now + random_timeout();
}

void Election::on_vote_given(Instant now) {
  quick_rounds_left_ = 0;
  deadline_ = now + random_timeout();
}

void Election::on_leader_link_reset(Instant now) {
  leader_heard_at_.reset();
  quick_rounds_left_ = kQuickRounds;
  deadline_ = now + config_.link_reset_stagger * static_cast<std::int64_t>(rank_);
}

void Election::rest(Instant now) {
  deadline_ = now + random_timeout();
}

std::uint64_t Election::begin(Instant now) {
  if (quick_rounds_left_ > 0) {
    --quick_rounds_left_;
    return begin_until(now + rng_.between(kQuickMin, kQuickMax));
  }
  return begin_until(now + random_timeout());
}

std::uint64_t Election::begin_vote(Instant now) {
  if (voted_upon_ || quick_rounds_left_ > 0) {
    return begin(now);
  }
  voted_upon_ = true;
  return begin_until(now + rng_.between(config_.vote_retry_min, config_.vote_retry_max));
}

std::uint64_t Election::begin_until(Instant deadline) {
  tally_ = VoteTally(voter_count_);
  deadline_ = deadline;
  return ++request_;
}

VoteOutcome Election::record(HostId voter, std::uint64_t request, bool granted) {
  if (request != request_) {
    return VoteOutcome::kPending;
  }
  tally_.record(voter, granted);
  return tally_.outcome();
}

}  // namespace muster::scheduler
