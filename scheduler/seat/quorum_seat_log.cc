// What the log does to a seat: entries are applied, snapshots of what they add up to are made.

#include "scheduler/seat/quorum_seat.h"

#include <utility>

#include "scheduler/raft/codec.h"

namespace muster::scheduler {

void QuorumSeat::apply(Instant now, CommittedEntry& entry) {
  output_.events.push_back({Severity::kDebug,
                            "applied",
                            {{"index", std::to_string(entry.index.value())},
                             {"term", std::to_string(entry.term.value())}}});
  // An entry of the present term proves that everything acknowledged before it is applied here; but
  // its leader may have committed far more since.
  caught_up_ = caught_up_ || (entry.term == raft_->term() && entry.index >= told_commit_);
  applied_term_ = entry.term;
  const bool is_command = entry.kind == LogEntryKind::kCommand;
  const std::string command = is_command ? std::move(entry.command) : std::string();
  const LogIndex before = scheduler_.state().applied();
  scheduler_.step(now, input::Applied{entry.index, command});
  if (before < entry.index && scheduler_.state().applied() == entry.index) {
    hasher_.applied(entry.term, command, scheduler_.state());
    look_back(now, entry.index);
  }
}

/// At the indexes at which all voters do: what the state came to is told, and kept.
void QuorumSeat::look_back(Instant now, LogIndex applied) {
  if (!hasher_.is_point(applied)) {
    return;
  }
  const bool is_due = hasher_.is_snapshot_due(applied);
  std::string state = hasher_.is_deep(applied) ? scheduler_.state().encode() : std::string();
  raft_->step(now, Raft::Hashed{hasher_.hash(applied, state)});
  if (is_due) {
    compact(now, applied, std::move(state));
  }
}

void QuorumSeat::compact(Instant now, LogIndex applied, std::string state) {
  if (state.size() > kSnapshotBytesMax) {
    // A snapshot that cannot be sent would shut out a voter that needs it: the log grows instead.
    output_.events.push_back(
        {Severity::kAlarm, "log_not_compacted", {{"state_bytes", std::to_string(state.size())}}});
    return;
  }
  raft_->step(now, Raft::Compact{applied, std::move(state)});
}

}  // namespace muster::scheduler
