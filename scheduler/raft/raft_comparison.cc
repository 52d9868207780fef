// A voter's start from its disk: the questions, and the answers to those of others.

#include "scheduler/raft/raft.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "gossip/base/check.h"
#include "scheduler/raft/codec.h"

namespace muster::scheduler {

void Raft::begin_comparison(Instant now, Rng rng, bool is_of_copy) {
  const bool is_alone = voters_.size() == 1 && voters_.front() == self_;
  if (!is_alone || is_of_copy) {
    comparison_.emplace(self_, voters_, rng.next() | 1U, now, is_of_copy);
    for (const Seat& learner : log_.configuration().learners) {
      comparison_->await_learner(learner.host, now);
    }
  }
}

void Raft::tick_comparison(Instant now) {
  AppendRequest question;
  question.request = comparison_->question();
  question.round = seat_.value();
  for (const HostId& host : comparison_->due(now)) {
    send(host, question);
  }
  if (comparison_->is_over(now)) {
    end_comparison(now);
  }
}

void Raft::compare(Instant now, const PeerMessage& input) {
  const auto* reply = std::get_if<AppendReply>(&input.message);
  const bool is_answer = reply != nullptr && reply->request == comparison_->question() &&
                         reply->term.value() <= hard_state_.term.value() + kTermLeapMax;
  if (!is_answer) {
    const bool knows_more = std::holds_alternative<AppendRequest>(input.message) ||
                            std::holds_alternative<SnapshotChunk>(input.message) ||
                            std::holds_alternative<VoteRequest>(input.message);
    if (knows_more && input.from != self_) {
      comparison_->also_ask(input.from, now);
    }
    return;
  }
  const Answer answer = reply->answer.value_or(Answer());
  if (std::string why = why_went_back(input.from, answer.mark); !why.empty()) {
    emit(Severity::kAlarm, "disk_went_back",
         {{"told_by", input.from.short_hex()},
          {"why", why},
          {"advice",
           "this disk lost what it had synced, or is an old image: the host starts again with an "
           "empty log"}});
    fall_silent();
    output_.gives_seat_up = "the disk went back: " + std::move(why);
    return;
  }
  const Seat* voter = log_.configuration().voter(input.from);
  if (voter != nullptr && voter->id != reply->seat && !answer.leads) {
    return;  // Its own disk is another one: it knows nothing of before.
  }
  comparison_->answered(input.from, reply->term, answer, now);
  if (comparison_->is_replaceable()) {
    fall_silent();
    output_.gives_seat_up = "raft/ was copied, and host " + input.from.short_hex() +
                            " leads without this voter: it starts again with an empty log";
    return;
  }
  if (comparison_->is_over(now)) {
    end_comparison(now);
  }
}

/// The voter gives no vote in the term that it enters: its disk may have forgotten one.
void Raft::end_comparison(Instant now) {
  const Term term = std::max(comparison_->term(), hard_state_.term);
  committed_elsewhere_ = comparison_->commit();
  emit(Severity::kInfo, "disk_compared",
       {{"answers", std::to_string(comparison_->answers())},
        {"term", std::to_string(term.value())},
        {"commit", std::to_string(committed_elsewhere_.index.value())}});
  comparison_.reset();
  if (term > hard_state_.term || (hard_state_.vote.is_zero() && term > Term())) {
    hard_state_ = {term, self_};
    persist_hard_state();
  }
  if (now >= election_.deadline() && voters_.size() > 1) {
    election_.rest(now);
  }
}

/// "" if this disk holds all that the mark says. An entry acknowledged in a term stays in the log
/// until a leader of a later term replaces it, and that term is on disk by then.
std::string Raft::why_went_back(HostId teller, const Mark& mark) const {
  if (mark.term > hard_state_.term) {
    return "it was in term " + std::to_string(mark.term.value()) + " and holds " +
           std::to_string(hard_state_.term.value());
  }
  if (mark.term < hard_state_.term || mark.term == Term()) {
    return "";
  }
  const bool has_match = mark.match.index <= log_.snapshot().at.index || log_.holds(mark.match);
  if (!has_match) {
    return "it acknowledged entry " + std::to_string(mark.match.index.value());
  }
  return mark.has_voted && hard_state_.vote != teller ? "it gave a vote that it does not know of"
                                                      : "";
}

/// The asker has just started: its earlier acknowledgements no longer count.
void Raft::answer_question(Instant now, HostId from, const AppendRequest& question) {
  AppendReply reply;
  reply.term = hard_state_.term;
  reply.request = question.request;
  reply.seat = seat_;
  reply.level = config_.level;
  Answer answer;
  answer.commit = {commit_, log_.term_at(commit_).value_or(Term())};
  answer.leads = leads_with_own_term_applied();
  answer.mark = marks_.of(from, SeatId(question.round));
  answer.voters = voters_;
  answer.learners = who_else_may_vote();
  reply.answer = answer;
  if (replication_.has_value()) {
    replication_->begin_life(view(now), from);
  }
  send(from, reply);  // At once: it binds nobody.
}

/// Learners, and, if this voter starts as well, the hosts it was told of: its disk may have
/// forgotten the same change as the disk of the asker. Ascending, no more than any version reads.
std::vector<HostId> Raft::who_else_may_vote() const {
  std::set<HostId> hosts;
  for (const Seat& learner : log_.configuration().learners) {
    hosts.insert(learner.host);
  }
  if (comparison_.has_value()) {
    for (const HostId& host : comparison_->asked_besides()) {
      if (hosts.size() < kVotersMax) {
        hosts.insert(host);
      }
    }
  }
  return {hosts.begin(), hosts.end()};
}

/// All of these leave their sender when its term is durable; pre-votes and answers do not.
void Raft::note_mark(HostId from, const RaftMessage& message) {
  const auto matched = [&](SeatId seat, Term term, LogIndex index, bool is_equal) {
    marks_.heard(from, seat, term);
    const auto entry_term = is_equal ? log_.term_at(index) : std::nullopt;
    if (entry_term.has_value()) {
      marks_.heard_match(from, seat, term, {index, *entry_term});
    }
  };
  const auto is_led_by_us = [&](Term term) {
    return role_ == Role::kLeader && term == hard_state_.term;
  };
  // A leader or a candidate speaks from the seat that votes.
  const Seat* voter = log_.configuration().voter(from);
  if (const auto* vote = std::get_if<VoteReply>(&message)) {
    if (!vote->pre_vote && vote->granted) {
      marks_.heard_vote(from, vote->seat, vote->term);
    } else if (!vote->pre_vote) {
      marks_.heard(from, vote->seat, vote->term);
    }
  } else if (const auto* reply = std::get_if<AppendReply>(&message)) {
    if (!reply->answer.has_value()) {
      matched(reply->seat, reply->term, reply->match, reply->matched && is_led_by_us(reply->term));
    }
  } else if (const auto* ack = std::get_if<SnapshotAck>(&message)) {
    matched(ack->seat, ack->term, ack->match, is_led_by_us(ack->term));
  } else if (const auto* append = std::get_if<AppendRequest>(&message); append && voter) {
    matched(voter->id, append->term, append->durable,
            append->durable <= append->previous.index && log_.holds(append->previous));
  } else if (const auto* request = std::get_if<VoteRequest>(&message); request && voter) {
    if (!request->pre_vote) {
      marks_.heard(from, voter->id, request->term);
    }
  }
}

/// True for a candidate that lacks an entry that others know to be committed: it gets no vote.
bool Raft::lacks_committed(LogPosition last) const {
  return std::tuple(last.term, last.index) <
         std::tuple(committed_elsewhere_.term, committed_elsewhere_.index);
}

}  // namespace muster::scheduler
