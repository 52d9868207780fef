// Terms, votes and roles (5.2, 5.4.1; thesis 4.2.3, 9.6).

#include "scheduler/raft/raft.h"

#include <utility>

#include "gossip/base/check.h"
#include "gossip/base/mutant.h"

namespace muster::scheduler {

void Raft::become_follower(Instant now, Term term, HostId leader, std::string_view reason) {
  CHECK(term >= hard_state_.term);
  if (role_ == Role::kLeader) {
    emit(Severity::kWarn, "stepped_down",
         {{"term", std::to_string(hard_state_.term.value())}, {"reason", std::string(reason)}});
    const std::vector<std::uint64_t> reads = read_index_.take_all();
    output_.refused_reads.insert(output_.refused_reads.end(), reads.begin(), reads.end());
    last_majority_at_ = replication_->majority_heard_at(now);
    replication_.reset();
    transfer_.reset();
    own_term_index_ = LogIndex();
    uncommitted_bytes_ = 0;
    election_.rest(now);
  }
  role_ = Role::kFollower;
  leader_ = leader;
  if (term > hard_state_.term) {
    hard_state_ = {term, HostId()};
    persist_hard_state();
  }
}

void Raft::start_pre_vote(Instant now) {
  if (!leader_.is_zero()) {
    emit(Severity::kInfo, "leader_lost", {{"leader", leader_.short_hex()}});
  }
  role_ = Role::kPreCandidate;
  leader_ = HostId();
  tell_pre_vote(now);
  vote_request_ = election_.begin(now);
  request_votes(hard_state_.term.next(), true, false);
  on_outcome(now, own_vote());
}

/// Without a majority there is a try each second, for days if need be: events tell the first try,
/// then their count each kPreVoteToldEvery.
void Raft::tell_pre_vote(Instant now) {
  ++pre_votes_;
  if (pre_votes_ > 1 && now - pre_vote_told_at_ < kPreVoteToldEvery) {
    return;
  }
  pre_vote_told_at_ = now;
  emit(Severity::kInfo, "pre_vote_started",
       {{"term", std::to_string(hard_state_.term.next().value())}});
  if (pre_votes_ > 1) {
    output_.events.back().fields.emplace_back("tries", std::to_string(pre_votes_));
  }
}

void Raft::start_campaign(Instant now, bool transfer) {
  role_ = Role::kCandidate;
  hard_state_ = {hard_state_.term.next(), self_};
  persist_hard_state();
  emit(Severity::kInfo, "election_started", {{"term", std::to_string(hard_state_.term.value())}});
  vote_request_ = election_.begin_vote(now);
  // The own vote counts, and is asked upon, when it is durable: see handle(Persisted).
  request_votes(hard_state_.term, false, transfer);
}

void Raft::request_votes(Term term, bool pre_vote, bool transfer) {
  for (const HostId& voter : voters_) {
    if (voter != self_) {
      const std::uint64_t batch = pre_vote ? 0 : hard_batch_;
      send_after(batch, voter, VoteRequest{term, pre_vote, log_.last(), vote_request_, transfer});
    }
  }
}

void Raft::on_outcome(Instant now, VoteOutcome outcome) {
  if (outcome == VoteOutcome::kPending) {
    return;
  }
  if (outcome == VoteOutcome::kLost) {
    role_ = Role::kFollower;
  } else if (role_ == Role::kPreCandidate) {
    start_campaign(now, false);
  } else {
    become_leader(now);
  }
}

void Raft::become_leader(Instant now) {
  CHECK(role_ == Role::kCandidate);
  CHECK(durable_batch_ >= hard_batch_);
  role_ = Role::kLeader;
  leader_ = self_;
  pre_votes_ = 0;
  replication_.emplace(config_, self_, log_.configuration(), log_.last().index, now);
  uncommitted_bytes_ = 0;
  // Entries of older terms commit with this one, never by counting (5.4.2).
  log_.append({hard_state_.term, LogEntryKind::kNoop, {}}, open_batch());
  note_log_changed();
  own_term_index_ = log_.last().index;
  emit(Severity::kInfo, "leader_elected",
       {{"term", std::to_string(hard_state_.term.value())}, {"leader", self_.short_hex()}});
  begin_round(now);
  lead(now);
}

void Raft::answer_pre_vote(Instant now, HostId from, const VoteRequest& request) {
  const bool fresh = role_ == Role::kLeader || election_.leader_is_fresh(now);
  if (fresh && !mutant(Mutant::kRaftPreVoteNotSticky)) {
    return;
  }
  const bool granted = request.term > hard_state_.term && log_.up_to_date(request.last) &&
                       !lacks_committed(request.last);
  const Term term = granted ? request.term : hard_state_.term;
  // At once: a pre-vote binds nobody, and one held behind a slow disk would outlive its reason.
  send(from, VoteReply{term, true, granted, request.request, seat_});
}

void Raft::on_message(Instant now, HostId from, VoteRequest request) {
  if (request.pre_vote) {
    answer_pre_vote(now, from, request);
    return;
  }
  if (request.term > hard_state_.term) {
    const bool fresh = role_ == Role::kLeader || election_.leader_is_fresh(now);
    if (fresh && !request.transfer) {
      return;
    }
    become_follower(now, request.term, HostId(), "newer term");
  }
  const bool free = hard_state_.vote.is_zero() || hard_state_.vote == from;
  const bool granted = request.term == hard_state_.term && free && log_.up_to_date(request.last) &&
                       !lacks_committed(request.last);
  if (granted) {
    role_ = Role::kFollower;
    if (hard_state_.vote != from) {
      hard_state_.vote = from;
      persist_hard_state();
    }
    election_.on_vote_given(now);
  }
  // The vote leaves when it is durable: a voter that forgot it would vote twice (5.2).
  const std::uint64_t batch = mutant(Mutant::kRaftVoteNotPersisted) ? 0 : hard_batch_;
  send_after(batch, from, VoteReply{hard_state_.term, false, granted, request.request, seat_});
}

void Raft::on_message(Instant now, HostId from, TimeoutNow request) {
  const bool is_from_leader = request.term == hard_state_.term && leader_ == from;
  if (is_from_leader && role_ == Role::kFollower && may_campaign()) {
    emit(Severity::kInfo, "leadership_offered", {{"by", from.short_hex()}});
    leader_ = HostId();
    start_campaign(now, true);
  }
}

void Raft::on_message(Instant now, HostId from, VoteReply reply) {
  const bool granted_pre_vote = reply.pre_vote && reply.granted;
  if (!granted_pre_vote && reply.term > hard_state_.term) {
    become_follower(now, reply.term, HostId(), "newer term");
    return;
  }
  const bool awaited = reply.pre_vote
                           ? role_ == Role::kPreCandidate &&
                                 (!reply.granted || reply.term == hard_state_.term.next())
                           : role_ == Role::kCandidate && reply.term == hard_state_.term;
  const bool counts = log_.configuration().has_voter({from, reply.seat}) ||
                      (mutant(Mutant::kRaftSeatIgnored) && is_member(from));
  if (awaited && counts) {
    on_outcome(now, election_.record(from, reply.request, reply.granted));
  }
}

}  // namespace muster::scheduler
