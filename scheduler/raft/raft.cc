#include "scheduler/raft/raft.h"

#include <algorithm>
#include <utility>

#include "gossip/base/check.h"
#include "gossip/base/mutant.h"
#include "gossip/base/state_machine.h"
#include "scheduler/raft/codec.h"
#include "scheduler/raft/configuration.h"
#include "scheduler/raft/first_quorum_messages.h"
#include "scheduler/raft/quorum.h"

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
      seat_(recovered.seat),
      hard_state_(recovered.hard_state),
      log_(recovered),
      voters_(log_.configuration().voter_hosts()),
      noted_configuration_(log_.configuration_index()),
      election_(config, self, voters_, rng, now),
      commit_(log_.snapshot().at.index) {
  CHECK(config_.validate().has_value());
  CHECK(log_.last().term <= hard_state_.term);
  if (commit_.value() > 0) {
    output_.install = log_.snapshot();
  }
  if (recovered.must_compare || recovered.is_copy) {
    begin_comparison(now, rng.fork(), recovered.is_copy);
  }
}

void Raft::step(Instant now, Input input) {
  if (halted_) {
    return;
  }
  stepped_at_ = now;
  std::visit([&](auto&& fact) { handle(now, std::forward<decltype(fact)>(fact)); },
             std::move(input));
  if (!halted_ && role_ == Role::kLeader) {
    lead(now);
  }
  note_unfinished(now);
}

/// The newest configuration counts as soon as it is in the log, and as long as it is there.
void Raft::note_configuration(Instant now) {
  const LogIndex index = log_.configuration_index();
  const Configuration& newest = log_.configuration();
  std::vector<HostId> voters = newest.voter_hosts();
  if (index == noted_configuration_ && voters == voters_) {
    return;
  }
  noted_configuration_ = index;
  voters_ = std::move(voters);
  election_.set_voters(voters_);
  if (replication_.has_value()) {
    replication_->set_configuration(newest, log_.last().index, now);
  }
  emit(Severity::kInfo, "configuration_changed",
       {{"voters", std::to_string(newest.voters.size())},
        {"learners", std::to_string(newest.learners.size())},
        {"index", std::to_string(index.value())}});
}

void Raft::tick(Instant now) {
  if (halted_) {
    return;
  }
  stepped_at_ = now;
  if (comparison_.has_value()) {
    tick_comparison(now);
  } else if (role_ == Role::kLeader) {
    tick_leader(now);
  } else if (may_campaign() && now >= election_.deadline()) {
    if (disk_hangs(now)) {
      role_ = Role::kFollower;
      election_.rest(now);
    } else {
      start_pre_vote(now);
    }
  }
  note_unfinished(now);
}

void Raft::tick_leader(Instant now) {
  // A leader that is late itself reads answers as late as it asked for them: where many agents
  // share few cores, it would step down beside voters that follow it.
  heartbeat_.lag.saw(now, std::max(Duration(0), now - heartbeat_.due));
  const Duration late = std::min(2 * heartbeat_.lag.worst(now), config_.check_quorum);
  if (now - replication_->majority_heard_at(now) >= config_.check_quorum + late) {
    // It may be deaf and not mute: then the others need not wait until they miss it.
    if (const HostId heir = replication_->best_successor(); !heir.is_zero()) {
      send(heir, TimeoutNow{hard_state_.term});
    }
    become_follower(now, hard_state_.term, HostId(), "no majority answered");
    return;
  }
  const bool failed = transfer_.has_value() && now >= transfer_->until;
  if (failed) {
    emit(Severity::kWarn, "transfer_failed", {{"to", transfer_->to.short_hex()}});
    transfer_.reset();
  }
  // Where the others are as slow, nobody would lead better.
  if (disk_hangs(now) && log_.durable() < commit_) {
    if (failed || (!transfer_.has_value() && !begin_hand_over(now, HostId()))) {
      become_follower(now, hard_state_.term, HostId(), "own disk does not finish a write");
      return;
    }
    hand_over(now);
  }
  if (now >= heartbeat_.due) {
    begin_round(now);
    lead(now);
  }
}

Instant Raft::next_deadline() const {
  if (halted_) {
    return kNever;
  }
  if (comparison_.has_value()) {
    return comparison_->next_deadline();
  }
  if (role_ == Role::kLeader) {
    const Instant hand_over_at = transfer_.has_value() ? transfer_->until : kNever;
    const bool may_hang = !unfinished_.empty() && !transfer_.has_value();
    const Instant hangs_at = may_hang ? unfinished_.front().since + config_.disk_patience : kNever;
    return std::min({heartbeat_.due, hand_over_at, hangs_at > stepped_at_ ? hangs_at : kNever});
  }
  return may_campaign() ? election_.deadline() : kNever;
}

/// Entries leave here and not in step(): proposals made in one go travel in one message.
Raft::Output Raft::take_output() {
  if (!halted_ && role_ == Role::kLeader) {
    replication_->replicate(view(stepped_at_), output_.messages, output_.events);
  }
  return std::exchange(output_, Output());
}

bool Raft::is_member(HostId host) const {
  return host != self_ && (log_.configuration().voter(host) != nullptr ||
                           log_.configuration().learner(host) != nullptr);
}

void Raft::handle(Instant now, PeerMessage input) {
  const auto* append = std::get_if<AppendRequest>(&input.message);
  if (append != nullptr && append->term == Term() && input.from != self_) {
    answer_question(now, input.from, *append);
    return;
  }
  if (comparison_.has_value()) {
    compare(now, input);
    return;
  }
  // A voter serves requests of any host: its configuration may be newer than the own (thesis 4.1).
  // A reply of a host that is not in the own configuration is late or a lie.
  const bool is_reply = std::holds_alternative<VoteReply>(input.message) ||
                        std::holds_alternative<AppendReply>(input.message) ||
                        std::holds_alternative<SnapshotAck>(input.message);
  if (is_reply && !is_member(input.from)) {
    const auto* answer = std::get_if<AppendReply>(&input.message);
    if (answer != nullptr && role_ == Role::kLeader) {
      output_.invited.push_back({input.from, answer->seat});
    }
    return;
  }
  if (input.from == self_) {
    return;
  }
  const Term term = std::visit([](const auto& message) { return message.term; }, input.message);
  if (term.value() > hard_state_.term.value() + kTermLeapMax) {
    emit(Severity::kWarn, "raft_message_dropped",
         {{"from", input.from.short_hex()},
          {"reason", "its term " + std::to_string(term.value()) + " is out of reach"}});
    return;
  }
  note_mark(input.from, input.message);
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
  while (!unfinished_.empty() && unfinished_.front().batch <= durable_batch_) {
    unfinished_.pop_front();
  }
  while (!held_.empty() && held_.front().batch <= durable_batch_) {
    send(held_.front().send.to, std::move(held_.front().send.message));
    held_.pop_front();
  }
  if (role_ == Role::kCandidate && durable_batch_ >= hard_batch_) {
    on_outcome(now, own_vote());
  }
}

bool Raft::may_campaign() const {
  if (comparison_.has_value() || lacks_committed(log_.last())) {
    return false;
  }
  return is_voter() || log_.configuration_at(commit_).has_voter({self_, seat_});
}

VoteOutcome Raft::own_vote() {
  return is_voter() ? election_.record(self_, vote_request_, true) : VoteOutcome::kPending;
}

void Raft::handle(Instant, Propose input) {
  const bool leads = role_ == Role::kLeader;
  const bool too_large = input.command.size() > kEntryBytesMax;
  if (too_large || !takes_proposals()) {
    emit(Severity::kWarn, "proposal_dropped",
         {{"bytes", std::to_string(input.command.size())},
          {"reason", !leads                  ? "not leading"
                     : too_large             ? "too large"
                     : transfer_.has_value() ? "handing over"
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

void Raft::handle(Instant now, Compact input) {
  if (input.index <= log_.snapshot().at.index || input.index > commit_) {
    return;
  }
  std::size_t kept = config_.entries_kept;
  std::size_t bytes_kept = config_.bytes_kept;
  const auto sent = replication_.has_value() ? replication_->oldest_snapshot_sent(now)
                                             : std::optional<LogIndex>();
  if (sent.has_value()) {
    kept = std::max<std::size_t>(kept, std::min<std::size_t>(input.index.value() - sent->value(),
                                                             config_.entries_kept_for_snapshot));
    bytes_kept = std::max(bytes_kept, config_.bytes_kept_for_snapshot);
  }
  log_.compact(input.index, std::move(input.state), kept, bytes_kept, open_batch());
  note_log_changed();
  noted_configuration_ = log_.configuration_index();
}

std::string Raft::why_not(Instant now, const Configuration& next) const {
  if (role_ != Role::kLeader) {
    return "this host does not lead";
  }
  // Before that, two leaders could each commit a change on majorities that do not overlap (the
  // fault of thesis 4.1 that its author reported in 2015).
  if (!leads_with_own_term_applied() && !mutant(Mutant::kRaftConfigBeforeOwnTerm)) {
    return "the leader is new: its first entry is not committed yet";
  }
  if (log_.configuration_index() > commit_ && !mutant(Mutant::kRaftConfigBeforeOwnTerm)) {
    return "the change before it is not committed yet";
  }
  if (transfer_.has_value()) {
    return "the leadership is being handed over";
  }
  std::string reason = why_not_next(log_.configuration(), next);
  for (const Seat& seat : next.voters) {
    const bool is_new = log_.configuration().voter(seat.host) == nullptr;
    const std::uint64_t match = replication_->match_of(seat.host).value();
    if (reason.empty() && is_new && seat.host != self_ &&
        match + config_.promote_lag < log_.last().index.value()) {
      reason = "the new voter still lacks " + std::to_string(log_.last().index.value() - match) +
               " entries";
    }
  }
  // An outdated member would stop at the entry: the change would cost a voter and gain none.
  const HostId outdated = replication_->answers_below(kConfigurationLevel, next);
  if (reason.empty() && !outdated.is_zero()) {
    reason = "host " + outdated.short_hex() +
             " runs a version that does not know such an entry: upgrade it first";
  }
  const std::size_t live = replication_->live_voters(next, now - config_.check_quorum);
  if (reason.empty() && live < majority_of(next.voters.size())) {
    reason = "only " + std::to_string(live) + " of its " + std::to_string(next.voters.size()) +
             " voters answer: it could not decide anything";
  }
  return reason;
}

void Raft::handle(Instant now, Reconfigure input) {
  if (std::string reason = why_not(now, input.next); !reason.empty()) {
    emit(Severity::kWarn, "configuration_refused", {{"reason", std::move(reason)}});
    return;
  }
  log_.append({hard_state_.term, LogEntryKind::kConfiguration, encode(input.next)}, open_batch());
  note_log_changed();
  note_configuration(now);
}

void Raft::handle(Instant now, Transfer input) {
  if (role_ == Role::kLeader && !transfer_.has_value() && !begin_hand_over(now, input.to)) {
    emit(Severity::kWarn, "transfer_failed",
         {{"to", input.to.short_hex()}, {"detail", "no other voter"}});
  }
}

bool Raft::begin_hand_over(Instant now, HostId heir) {
  const HostId to = heir.is_zero() ? replication_->best_successor() : heir;
  if (to == self_ || log_.configuration().voter(to) == nullptr || replication_->differs(to)) {
    return false;
  }
  transfer_ = HandOver{to, now + config_.transfer_patience};
  return true;
}

/// A heartbeat that asks for nothing: it says who leads, and is answered from the host's seat.
void Raft::handle(Instant, Invite input) {
  if (role_ == Role::kLeader && !is_member(input.host) && input.host != self_) {
    AppendRequest beat;
    beat.term = hard_state_.term;
    send(input.host, beat);
  }
}

bool Raft::takes_proposals() const {
  return role_ == Role::kLeader && !transfer_.has_value() &&
         uncommitted_bytes_ <= kUncommittedBytesMax;
}

std::uint64_t Raft::common_level() const {
  if (!replication_.has_value()) {
    return 0;
  }
  std::uint64_t level = config_.level;
  for (const MemberLag& member : replication_->lag({Instant(), hard_state_.term, commit_, log_})) {
    level = std::min(level, member.level);
  }
  return level;
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

/// A batch that is still open for more writes counts from its first.
void Raft::note_unfinished(Instant now) {
  const std::uint64_t noted = unfinished_.empty() ? durable_batch_ : unfinished_.back().batch;
  if (last_batch_ > noted) {
    unfinished_.push_back({last_batch_, now});
  }
}

bool Raft::disk_hangs(Instant now) const {
  return !unfinished_.empty() && now - unfinished_.front().since >= config_.disk_patience;
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
    if (entry.kind != LogEntryKind::kNoop && entry.kind != LogEntryKind::kCommand &&
        entry.kind != LogEntryKind::kConfiguration) {
      halt("entry " + std::to_string(index.value()) + " is of unknown kind " +
           std::to_string(static_cast<unsigned>(entry.kind)));
      return;
    }
    commit_ = index;
    uncommitted_bytes_ -= std::min(uncommitted_bytes_, entry.command.size());
    output_.committed.push_back({index, entry.term, entry.kind, entry.command});
  }
}

void Raft::fall_silent() {
  halted_ = true;
  replication_.reset();
  transfer_.reset();
  role_ = Role::kFollower;
  leader_ = HostId();
  own_term_index_ = LogIndex();
  held_.clear();
  comparison_.reset();
  const std::vector<std::uint64_t> reads = read_index_.take_all();
  output_.refused_reads.insert(output_.refused_reads.end(), reads.begin(), reads.end());
}

void Raft::halt(std::string reason) {
  fall_silent();
  emit(Severity::kAlarm, "raft_halted", {{"reason", std::move(reason)}});
}

void Raft::emit(Severity severity, std::string_view name,
                std::vector<std::pair<std::string_view, std::string>> fields) {
  output_.events.push_back({severity, name, std::move(fields)});
}

void Raft::erase_all(crdt::WriteBatch& batch) const {
  log_.erase_all(batch);
  for (const std::string_view key :
       {kHardStateKey, kVotersKey, kClusterKey, kPromiseKey, kRefusedKey, kCopiedKey}) {
    batch.push_back({std::string(key), std::nullopt});
  }
}

bool Raft::leads_with_own_term_applied() const {
  return role_ == Role::kLeader && commit_ >= own_term_index_;
}

std::vector<MemberLag> Raft::lag(Instant now) const {
  return replication_.has_value() ? replication_->lag(view(now)) : std::vector<MemberLag>();
}

void Raft::check_invariants() const {
  log_.check_invariants();
  CHECK(log_.snapshot().at.index <= commit_);
  CHECK(commit_ <= log_.last().index);
  CHECK(log_.last().term <= hard_state_.term);
  CHECK(durable_batch_ <= last_batch_);
  CHECK(hard_batch_ <= last_batch_);
  CHECK(unfinished_.empty() || unfinished_.front().batch > durable_batch_);
  CHECK(replication_.has_value() == (role_ == Role::kLeader));
  CHECK(role_ == Role::kLeader || !transfer_.has_value());
  CHECK(voters_.size() <= kVotersMax);
  CHECK(voters_ == log_.configuration().voter_hosts());
  CHECK(held_.empty() || held_.front().batch > durable_batch_);
  if (role_ == Role::kLeader) {
    CHECK(leader_ == self_);
    replication_->check_invariants(log_);
  }
}

}  // namespace muster::scheduler
