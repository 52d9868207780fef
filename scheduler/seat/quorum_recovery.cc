#include "scheduler/seat/quorum_recovery.h"

#include <string>
#include <utility>

#include "scheduler/protocol/codec.h"
#include "scheduler/raft/codec.h"

namespace muster::scheduler {

/// As a restart would find it. The whole of it is one snapshot: a voter that joins gets that, and
/// none of the entries before it, whose term says nothing about who may have seen them.
Result<RecoveredLog> continued_log(const Raft& raft, const State& applied, const ClusterEpoch& next,
                                   Term term, const gossip::Verifier* verifier) {
  const RaftLog& log = raft.log();
  State state = applied;
  for (LogIndex index = state.applied().next(); index <= log.last().index; index = index.next()) {
    const LogEntry& entry = log.entry(index);
    if (entry.kind != LogEntryKind::kCommand) {
      state.skip(index);
      continue;
    }
    const Result<LoggedEntry> command = decode_entry(entry.command);
    if (!command) {
      return Error{ErrorCode::kCorrupt, "entry " + std::to_string(index.value()) + ": " +
                                            command.error().text + ": start a newer version here"};
    }
    state.apply(index, command->entry, command->unix_ms, verifier,
                log.configuration_at(index).voter_hosts());
  }
  state.begin_epoch(next.counter, raft.commit());
  RecoveredLog fresh;
  fresh.epoch = next;
  fresh.hard_state.term = term;
  fresh.snapshot.at = log.last();
  fresh.snapshot.state = state.encode();
  fresh.snapshot.configuration.target = log.configuration().target;
  fresh.start = fresh.snapshot.at;
  if (fresh.snapshot.state.size() > kSnapshotBytesMax) {
    return Error{ErrorCode::kUnavailable, "the state is too large for a snapshot"};
  }
  return fresh;
}

crdt::WriteBatch replaced_by(const Raft& raft, const RecoveredLog& log) {
  crdt::WriteBatch batch;
  raft.erase_all(batch);
  batch.push_back(write_of(log.seat));
  batch.push_back(write_of(log.epoch));
  batch.push_back(write_of(log.hard_state));
  write_snapshot_to(log.snapshot, log.start, batch);
  return batch;
}

Event recovered_event(const Raft& raft, const RecoveredLog& log) {
  return {Severity::kAlarm,
          "quorum_recovered",
          {{"epoch", log.epoch.text()},
           {"index", std::to_string(log.snapshot.at.index.value())},
           {"committed", std::to_string(raft.commit().value())}}};
}

}  // namespace muster::scheduler
