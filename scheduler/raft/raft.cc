#include "scheduler/raft/raft.h"

#include <algorithm>
#include <utility>

#include "gossip/base/check.h"
#include "gossip/base/mutant.h"
#include "gossip/base/state_machine.h"
#include "scheduler/raft/codec.h"

namespace muster::scheduler {

static_assert(StateMachine<Raft>);

std::string_view text_of(Role role) {
  switch (role) {
    case Role::kFollower:
      return "follower";
    case Role::kPreCandidate:
      return "pre-candidate";
    case Role::kCandidate:
      return "candidate";
    case Role::kLeader:
      return "leader";
  }
  CHECK(false);
}

Raft::Raft(const RaftConfig& config, HostId self, Rng rng, RecoveredLog recovered, Instant now)
    : config_(config),
      self_(self),
      voters_(recovered.voters),
      hard_state_(recovered.hard_state),
      log_(recovered),
      election_(config, self, voters_, rng, now),
      commit_(log_.snapshot().at.index) {
  CHECK(config_.validate().has_value());
  CHECK(voters_.size() <= kVotersMax);
  CHECK(std::is_sorted(voters_.begin(), voters_.end()));
  CHECK(log_.last().term <= hard_state_.term);
  if (commit_.value() > 0) {
    output_.install = log_.snapshot();
  }
}

void Raft::step(Instant now, Input input) {
  if (halted_) {
    return;
  }
  std::visit([&](auto&& fact) { handle(now, std::forward<decltype(fact)>(fact)); },
             std::move(input));
  if (!halted_ && role_ == Role::kLeader) {
    lead(now);
  }
}

void Raft::tick(Instant now) {
  if (halted_) {
    return;
  }
  if (role_ != Role::kLeader) {
    if (now >= election_.deadline()) {
      start_pre_vote(now);
    }
    return;
  }
  if (now - replication_->majority_heard_at(now) >= config_.check_quorum) {
    become_follower(now, hard_state_.term, HostId(), "no majority answered");
    return;
  }
  if (now >= heartbeat_at_) {
    begin_round(now);
    lead(now);
  }
}

Instant Raft::next_deadline() const {
  if (halted_) {
    return kNever;
  }
  return role_ == Role::kLeader ? heartbeat_at_ : election_.deadline();
}

Raft::Output Raft::take_output() {
  return std::exchange(output_, Output());
}

bool Raft::is_voter(HostId host) const {
  return host != self_ && std::binary_search(voters_.begin(), voters_.end(), host);
}

void Raft::handle(Instant now, PeerMessage input) {
  if (!is_voter(input.from)) {
    emit(Severity::kWarn, "raft_message_dropped",
         {{"from", input.from.short_hex()}, {"reason", "not a voter"}});
    return;
  }
  const Term term = std::visit([](const auto& message) { return message.term; }, input.message);
  if (term.value() > hard_state_.term.value() + kTermLeapMax) {
    emit(Severity::kWarn, "raft_message_dropped",
         {{"from", input.from.short_hex()},
          {"reason", "its term " + std::to_string(term.value()) + " is out of reach"}});
    return;
  }
  std::visit(
      [&](auto&& message) {
        on_message(now, input.from, std::forward<decltype(message)>(message));
      },
      std::move(input.message));
}

void Raft::handle(Instant now, Persisted input) {
  CHECK(input.id <= last_batch_);
  durable_batch_ = std::max(durable_batch_, input.id);
  log_.persisted(input.id);
  while (!held_.empty() && held_.front().batch <= durable_batch_) {
    send(held_.front().send.to, std::move(held_.front().send.message));
    held_.pop_front();
  }
  if (role_ == Role::kCandidate && durable_batch_ >= hard_batch_) {
    on_outcome(now, election_.record(self_, vote_request_, true));
  }
}

void Raft::handle(Instant, Propose input) {
  const bool leads = role_ == Role::kLeader;
  const bool too_large = input.command.size() > kEntryBytesMax;
  if (!leads || too_large || uncommitted_bytes_ > kUncommittedBytesMax) {
    emit(Severity::kWarn, "proposal_dropped",
         {{"bytes", std::to_string(input.command.size())},
          {"reason", !leads      ? "not leading"
                     : too_large ? "too large"
                                 : "too much uncommitted"}});
    return;
  }
  uncommitted_bytes_ += input.command.size();
  log_.append({hard_state_.term, LogEntryKind::kCommand, std::move(input.command)}, open_batch());
  note_log_changed();
}

void Raft::handle(Instant, Read input) {
  if (role_ != Role::kLeader || !read_index_.add(input.context)) {
    output_.refused_reads.push_back(input.context);
    return;
  }
  if (mutant(Mutant::kRaftReadWithoutRound)) {
    read_index_.on_round_begun(0, commit_);
    output_.reads.push_back(read_index_.on_round_answered(0).front());
  }
}

void Raft::handle(Instant now, LeaderLinkReset input) {
  if (role_ != Role::kFollower || leader_.is_zero() || input.host != leader_) {
    return;
  }
  emit(Severity::kInfo, "leader_link_reset", {{"leader", leader_.short_hex()}});
  leader_ = HostId();
  election_.on_leader_link_reset(now);
}

void Raft::handle(Instant, Compact input) {
  if (input.index <= log_.snapshot().at.index || input.index > commit_) {
    return;
  }
  log_.compact(input.index, std::move(input.state), config_.entries_kept, open_batch());
  note_log_changed();
}

/// Everything that happens before the output is taken goes into one batch: one fsync, and term,
/// vote, truncation and entries are never torn apart.
crdt::WriteBatch& Raft::open_batch() {
  if (output_.persists.empty()) {
    output_.persists.push_back({++last_batch_, {}});
  }
  return output_.persists.back().writes;
}

void Raft::persist_hard_state() {
  open_batch().push_back(write_of(hard_state_));
  hard_batch_ = last_batch_;
}

void Raft::note_log_changed() {
  log_.note_batch(last_batch_);
}

void Raft::send(HostId to, RaftMessage message) {
  output_.messages.push_back({to, std::move(message)});
}

void Raft::send_after(std::uint64_t batch, HostId to, RaftMessage message) {
  if (batch <= durable_batch_) {
    send(to, std::move(message));
    return;
  }
  CHECK(held_.empty() || held_.back().batch <= last_batch_);
  const auto place =
      std::upper_bound(held_.begin(), held_.end(), batch,
                       [](std::uint64_t wanted, const Held& held) { return wanted < held.batch; });
  held_.insert(place, {batch, {to, std::move(message)}});
}

void Raft::hand_out(LogIndex up_to) {
  while (commit_ < up_to) {
    const LogIndex index = commit_.next();
    const LogEntry& entry = log_.entry(index);
    if (entry.kind != LogEntryKind::kNoop && entry.kind != LogEntryKind::kCommand) {
      halt("entry " + std::to_string(index.value()) + " is of unknown kind " +
           std::to_string(static_cast<unsigned>(entry.kind)));
      return;
    }
    commit_ = index;
    uncommitted_bytes_ -= std::min(uncommitted_bytes_, entry.command.size());
    output_.committed.push_back({index, entry.term, entry.kind, entry.command});
  }
}

void Raft::halt(std::string reason) {
  halted_ = true;
  replication_.reset();
  role_ = Role::kFollower;
  leader_ = HostId();
  own_term_index_ = LogIndex();
  held_.clear();
  const std::vector<std::uint64_t> reads = read_index_.take_all();
  output_.refused_reads.insert(output_.refused_reads.end(), reads.begin(), reads.end());
  emit(Severity::kAlarm, "raft_halted", {{"reason", std::move(reason)}});
}

void Raft::emit(Severity severity, std::string_view name,
                std::vector<std::pair<std::string_view, std::string>> fields) {
  output_.events.push_back({severity, name, std::move(fields)});
}

bool Raft::leads_with_own_term_applied() const {
  return role_ == Role::kLeader && commit_ >= own_term_index_;
}

std::vector<VoterLag> Raft::lag(Instant now) const {
  return replication_.has_value() ? replication_->lag(view(now)) : std::vector<VoterLag>();
}

void Raft::check_invariants() const {
  log_.check_invariants();
  CHECK(log_.snapshot().at.index <= commit_);
  CHECK(commit_ <= log_.last().index);
  CHECK(log_.last().term <= hard_state_.term);
  CHECK(durable_batch_ <= last_batch_);
  CHECK(hard_batch_ <= last_batch_);
  CHECK(replication_.has_value() == (role_ == Role::kLeader));
  CHECK(held_.empty() || held_.front().batch > durable_batch_);
  if (role_ == Role::kLeader) {
    CHECK(leader_ == self_);
    replication_->check_invariants(log_);
  }
}

}  // namespace muster::scheduler
