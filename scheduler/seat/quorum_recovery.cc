// A quorum that lost its majority for good goes on from one log, by an operator's word, under a
// higher epoch (design 7). What the lost voters had committed beyond that log is gone; what it made
// the hosts do goes on, and is adopted (scheduler/state/state_recovery.cc).

#include "scheduler/seat/quorum_seat.h"

#include <utility>

#include "gossip/base/check.h"
#include "scheduler/raft/codec.h"

namespace muster::scheduler {
namespace {

/// Some tries of an election. Shorter: one that lost its words is taken for gone.
constexpr Duration kVoterHeardWithin = std::chrono::seconds(5);

}  // namespace

std::optional<RecoveryPlan> QuorumSeat::recovery_plan() const {
  if (!raft_.has_value() || raft_->log().configuration().voters.empty()) {
    return std::nullopt;
  }
  return RecoveryPlan{epoch_, raft_->log().last(), raft_->commit()};
}

std::size_t QuorumSeat::heard_voters(Instant now) const {
  std::size_t heard = is_voter() ? 1 : 0;
  if (raft_.has_value()) {
    for (const Seat& voter : raft_->log().configuration().voters) {
      const auto at = voters_heard_.find(voter.host);
      heard += at != voters_heard_.end() && now - at->second < kVoterHeardWithin ? 1U : 0U;
    }
  }
  return heard;
}

/// As a restart would find it. The whole of it is one snapshot: a voter that joins gets that, and
/// none of the entries before it, whose term says nothing about who may have seen them.
Result<RecoveredLog> QuorumSeat::continued_log(LogPosition expected,
                                               const ClusterEpoch& next) const {
  CHECK(raft_.has_value());
  CHECK(next.counter > epoch_.counter);
  const RaftLog& log = raft_->log();
  if (log.last() != expected) {
    return Error{ErrorCode::kConflict, "its log has moved on: look at it again"};
  }
  State state = scheduler_.state();
  for (LogIndex index = state.applied().next(); index <= log.last().index; index = index.next()) {
    const LogEntry& entry = log.entry(index);
    if (entry.kind != LogEntryKind::kCommand) {
      state.skip(index);
      continue;
    }
    const Result<Entry> command = decode_entry(entry.command);
    if (!command) {
      return Error{ErrorCode::kCorrupt, "entry " + std::to_string(index.value()) + ": " +
                                            command.error().text + ": start a newer version here"};
    }
    state.apply(index, *command);
  }
  state.begin_epoch(next.counter, raft_->commit());
  RecoveredLog fresh;
  fresh.epoch = next;
  fresh.hard_state.term = std::max(raft_->term(), heard_.term).next();
  fresh.snapshot.at = log.last();
  fresh.snapshot.state = state.encode();
  fresh.snapshot.configuration.target = log.configuration().target;
  fresh.start = fresh.snapshot.at;
  if (fresh.snapshot.state.size() > kSnapshotBytesMax) {
    return Error{ErrorCode::kUnavailable, "the state is too large for a snapshot"};
  }
  return fresh;
}

bool QuorumSeat::on_recover(Instant now, RecoveredLog log) {
  CHECK(raft_.has_value());
  CHECK(log.epoch.counter > epoch_.counter);
  CHECK(log.snapshot.at == raft_->log().last());
  const ClusterEpoch next = log.epoch;
  log.seat = SeatId(rng_.next() | 1U);
  log.snapshot.configuration.voters = {{options_.self, log.seat}};
  crdt::WriteBatch batch;
  raft_->erase_all(batch);
  batch.push_back(write_of(log.seat));
  batch.push_back(write_of(log.epoch));
  batch.push_back(write_of(log.hard_state));
  write_snapshot_to(log.snapshot, log.start, batch);
  output_.events.push_back({Severity::kAlarm,
                            "quorum_recovered",
                            {{"epoch", next.text()},
                             {"index", std::to_string(log.snapshot.at.index.value())},
                             {"committed", std::to_string(raft_->commit().value())}}});
  leave_seat(now);
  heard_ = {};
  epoch_ = next;
  // What the new machine writes comes behind this batch: no vote is durable before the log is.
  persist({Owner::Machine::kRecovery, 0}, std::move(batch));
  take_seat(now, std::move(log));
  return true;
}

bool QuorumSeat::on_epoch_met(Instant now, const ClusterEpoch& epoch) {
  if (epoch.counter <= epoch_.counter) {
    return false;
  }
  epoch_ = epoch;
  heard_ = {};
  if (!raft_.has_value()) {
    return false;
  }
  if (!raft_->log().configuration().voters.empty()) {
    give_seat_up(now, "the quorum was recovered elsewhere, as epoch " + epoch.text());
    return true;
  }
  // It has not had the log yet: there is nothing to keep.
  crdt::WriteBatch batch;
  raft_->erase_all(batch);
  batch.push_back(write_of(SeatId(rng_.next() | 1U)));  // Never a founder's again.
  batch.push_back(write_of(epoch));
  leave_seat(now);
  persist({Owner::Machine::kSeat, 0}, std::move(batch));
  return true;
}

/// The agent starts again once raft/ says so durably: else a crash would bring back the voter that
/// was. The log itself is kept, aside.
void QuorumSeat::give_seat_up(Instant now, const std::string& why) {
  output_.events.push_back({Severity::kWarn, "seat_given_up", {{"why", why}}});
  leave_seat(now);
  gives_seat_up_ = true;
  persist({Owner::Machine::kGivenUp, 0}, {write_of_given_up(why)});
}

/// Everything that is of the log that was followed here.
void QuorumSeat::leave_seat(Instant now) {
  const std::map<std::uint64_t, ReadOwner> reads = std::exchange(reads_, {});
  for (const auto& [number, owner] : reads) {
    if (owner.is_client) {
      output_.refused_reads.push_back(owner.id);
    }
  }
  for (auto& [id, owner] : persists_) {
    owner.machine = owner.machine == Owner::Machine::kRaft ? Owner::Machine::kSeat : owner.machine;
  }
  if (told_leads_) {
    scheduler_.step(now, input::LeadershipChanged{false, false});
  }
  raft_.reset();
  keeper_.leave();
  answer_wishes(keeper_.take_output().done);
  pace_ = VoterPace();
  told_ = {};
  told_leads_ = false;
  told_ready_ = false;
  caught_up_ = false;
  told_commit_ = LogIndex();
  applied_term_ = Term();
  voters_heard_.clear();
  hasher_ = StateHasher(options_.compact_entries);
}

}  // namespace muster::scheduler
