// The log, as follower (5.3, 7) and as leader (5.3, 5.4.2), and reads (thesis 6.4).

#include "scheduler/raft/raft.h"

#include <algorithm>
#include <utility>

#include "gossip/base/check.h"
#include "gossip/base/mutant.h"

namespace muster::scheduler {

/// A term has one leader (5.2): another host that claims to lead it errs or lies, and is not
/// obeyed. Halting would let one such voter end the others one by one.
bool Raft::contradicts_leader(HostId from, Term term) {
  if (term != hard_state_.term || leader_.is_zero() || leader_ == from) {
    return false;
  }
  if (second_leader_told_ != term) {
    second_leader_told_ = term;
    emit(Severity::kAlarm, "second_leader",
         {{"term", std::to_string(term.value())},
          {"leader", leader_.short_hex()},
          {"claimed_by", from.short_hex()}});
  }
  return true;
}

/// True if `from` leads in the present term; this host then follows it.
bool Raft::follow(Instant now, HostId from, Term term) {
  if (term < hard_state_.term) {
    return false;
  }
  if (term > hard_state_.term || role_ != Role::kFollower || leader_ != from) {
    become_follower(now, term, from, "newer leader");
    pre_votes_ = 0;
    emit(Severity::kInfo, "leader_followed",
         {{"leader", from.short_hex()}, {"term", std::to_string(term.value())}});
  }
  election_.on_leader_heard(now);
  return true;
}

void Raft::on_message(Instant now, HostId from, AppendRequest request) {
  if (contradicts_leader(from, request.term)) {
    return;
  }
  AppendReply reply;
  reply.request = request.request;
  reply.seat = seat_;
  reply.level = config_.level;
  if (!follow(now, from, request.term)) {
    reply.term = hard_state_.term;
    send_after(hard_batch_, from, reply);
    return;
  }
  if (is_told_to_be_other(request.agreed)) {
    diverge(request.agreed);
    return;
  }
  // A compacted entry is committed, hence equal to that of the leader.
  const bool compacted = request.previous.index < log_.start().index;
  if (!compacted && !log_.holds(request.previous)) {
    reply.term = hard_state_.term;
    reply.round = request.round;
    reply.hint = log_.last_not_after(request.previous);
    send_after(hard_batch_, from, reply);
    return;
  }
  const LogIndex last_new = LogIndex(request.previous.index.value() + request.entries.size());
  if (!store(now, request)) {
    return;
  }
  hand_out(std::min(std::min(request.commit, last_new), log_.last().index));
  if (!halted_) {
    acknowledge(from, request, last_new);
  }
}

/// False when the machine halted.
bool Raft::store(Instant now, AppendRequest& request) {
  LogIndex index = request.previous.index;
  bool changed = false;
  for (LogEntry& entry : request.entries) {
    index = index.next();
    if (index <= log_.start().index || log_.term_at(index) == entry.term) {
      continue;
    }
    if (index <= commit_) {
      halt("the leader contradicts committed entry " + std::to_string(index.value()));
      return false;
    }
    if (entry.kind == LogEntryKind::kConfiguration && !decode_configuration(entry.command)) {
      halt("the configuration in entry " + std::to_string(index.value()) + " is unreadable");
      return false;
    }
    if (index <= log_.last().index) {
      log_.truncate_from(index, open_batch());
    }
    log_.append(std::move(entry), open_batch());
    changed = true;
  }
  if (changed) {
    note_log_changed();
    note_configuration(now);
  }
  return true;
}

/// The acknowledgement names previous + entries, never the last stored entry: entries behind may
/// come from an older leader. An entry that is not durable yet is acknowledged when it is.
void Raft::acknowledge(HostId from, const AppendRequest& request, LogIndex last_new) {
  AppendReply reply;
  reply.term = hard_state_.term;
  reply.request = request.request;
  reply.round = request.round;
  reply.seat = seat_;
  reply.level = config_.level;
  reply.state = hashes_.newest();
  reply.matched = true;
  if (mutant(Mutant::kRaftAckLastStored)) {
    last_new = log_.last().index;
  }
  const bool entries_wait = !request.entries.empty() && last_new > log_.durable();
  if (entries_wait && !mutant(Mutant::kRaftAckBeforeDurable)) {
    reply.match = last_new;
    send_after(last_batch_, from, reply);
    return;
  }
  reply.match =
      mutant(Mutant::kRaftAckBeforeDurable) ? last_new : std::min(last_new, log_.durable());
  send_after(hard_batch_, from, reply);
}

void Raft::on_message(Instant now, HostId from, SnapshotChunk request) {
  if (contradicts_leader(from, request.term)) {
    return;
  }
  SnapshotAck reply;
  reply.request = request.request;
  reply.at = request.at.index;
  reply.seat = seat_;
  if (!follow(now, from, request.term)) {
    reply.term = hard_state_.term;
    send_after(hard_batch_, from, reply);
    return;
  }
  reply.term = hard_state_.term;
  const bool is_needed = request.at.index > commit_;
  if (is_needed && !collect(request)) {
    reply.next = incoming_->bytes.size();
    send_after(hard_batch_, from, reply);
    return;
  }
  reply.match = request.at.index;
  if (is_needed) {
    emit(Severity::kInfo, "snapshot_installed",
         {{"index", std::to_string(request.at.index.value())}});
    commit_ = request.at.index;
    hashes_ = StateHashes();  // Of a state that is no more.
    // Entries handed out earlier in this output are part of the snapshot.
    output_.committed.clear();
    output_.install =
        Snapshot{incoming_->at, std::move(incoming_->bytes), std::move(incoming_->configuration)};
    log_.install(*output_.install, open_batch());
    note_log_changed();
    note_configuration(now);
  }
  incoming_.reset();
  send_after(last_batch_, from, reply);
}

/// True if the whole snapshot is there. Parts come in order; this host asks again for a missing
/// one.
bool Raft::collect(SnapshotChunk& request) {
  const bool is_same = incoming_.has_value() && incoming_->at == request.at &&
                       incoming_->total == request.total &&
                       incoming_->configuration == request.configuration;
  if (!is_same) {
    incoming_ = Incoming{request.at, std::move(request.configuration), request.total, {}};
  }
  if (request.offset == incoming_->bytes.size()) {
    incoming_->bytes += request.bytes;
  }
  return incoming_->bytes.size() == incoming_->total;
}

template <class Reply>
void Raft::on_leader_reply(Instant now, HostId from, const Reply& reply) {
  if (reply.term > hard_state_.term) {
    become_follower(now, reply.term, HostId(), "newer term");
    return;
  }
  const bool stale = reply.term < hard_state_.term && !mutant(Mutant::kRaftStaleReplyCounted);
  if (role_ == Role::kLeader && !stale) {
    replication_->on_reply(view(now), from, reply);
  }
}

void Raft::on_message(Instant now, HostId from, AppendReply reply) {
  on_leader_reply(now, from, reply);
}

void Raft::on_message(Instant now, HostId from, SnapshotAck reply) {
  on_leader_reply(now, from, reply);
}

Replication::View Raft::view(Instant now) const {
  return {now, hard_state_.term, commit_, log_};
}

void Raft::begin_round(Instant now) {
  heartbeat_.due = now + config_.heartbeat;
  replication_->begin_round(view(now), output_.messages);
  if (leads_with_own_term_applied()) {
    read_index_.on_round_begun(replication_->round(), commit_);
  }
}

/// A leader commits and answers reads after every input. Entries leave with the output.
void Raft::lead(Instant now) {
  commit_by_counting(now);
  if (halted_ || role_ != Role::kLeader) {
    return;
  }
  hand_over(now);
  compare_states();
  if (halted_) {
    return;
  }
  const bool round_open = replication_->majority_round() < replication_->round();
  if (read_index_.waiting() && leads_with_own_term_applied() && !round_open) {
    begin_round(now);
  }
  const std::vector<ConfirmedRead> confirmed =
      read_index_.on_round_answered(replication_->majority_round());
  output_.reads.insert(output_.reads.end(), confirmed.begin(), confirmed.end());
}

void Raft::commit_by_counting(Instant now) {
  const bool trusts_memory = mutant(Mutant::kRaftOwnDiskNotAwaited);
  const LogIndex own = trusts_memory ? log_.last().index : log_.durable();
  const LogIndex reached = replication_->majority_match(own);
  // Only entries of the own term commit by counting; older ones with them (5.4.2, figure 8).
  const bool own_term = reached >= own_term_index_ || mutant(Mutant::kRaftCommitOldTerm);
  if (reached <= commit_ || !own_term) {
    return;
  }
  hand_out(reached);
  if (!halted_) {
    begin_round(now);
    leave_if_removed(now);
  }
}

/// A leader that the newest configuration removes leads until that is committed (thesis 4.2.2).
void Raft::leave_if_removed(Instant now) {
  if (!is_voter() && log_.configuration_index() <= commit_) {
    become_follower(now, hard_state_.term, HostId(), "no voter any more");
  }
}

/// The heir may campaign at once when it has the whole log.
void Raft::hand_over(Instant now) {
  if (!transfer_.has_value() || transfer_->told) {
    return;
  }
  if (replication_->match_of(transfer_->to) == log_.last().index) {
    transfer_->told = true;
    transfer_->until = now + config_.transfer_patience;
    send(transfer_->to, TimeoutNow{hard_state_.term});
  }
}

}  // namespace muster::scheduler
