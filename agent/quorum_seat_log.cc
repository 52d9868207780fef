// What the log does to a seat: entries are applied, snapshots of what they add up to are made.

#include <algorithm>
#include <utility>

#include "agent/quorum_seat.h"

namespace muster::agent {

void QuorumSeat::apply(Instant now, scheduler::CommittedEntry& entry) {
  output_.events.push_back({Severity::kDebug,
                            "applied",
                            {{"index", std::to_string(entry.index.value())},
                             {"term", std::to_string(entry.term.value())}}});
  // An entry of the present term proves that everything acknowledged before it is applied here; but
  // its leader may have committed far more since.
  caught_up_ = caught_up_ || (entry.term == raft_->term() && entry.index >= told_commit_);
  applied_term_ = entry.term;
  const bool is_command = entry.kind == scheduler::LogEntryKind::kCommand;
  scheduler_.step(now, scheduler::input::Applied{
                           entry.index, is_command ? std::move(entry.command) : std::string()});
}

void QuorumSeat::compact_if_due(Instant now) {
  const LogIndex applied = scheduler_.state().applied();
  const LogIndex last = std::max(raft_->snapshot_index(), compact_tried_);
  if (applied.value() < last.value() + options_.compact_entries) {
    return;
  }
  compact_tried_ = applied;
  std::string state = scheduler_.state().encode();
  if (state.size() > scheduler::kSnapshotBytesMax) {
    // A snapshot that cannot be sent would shut out a voter that needs it: the log grows instead.
    output_.events.push_back(
        {Severity::kAlarm, "log_not_compacted", {{"state_bytes", std::to_string(state.size())}}});
    return;
  }
  raft_->step(now, scheduler::Raft::Compact{applied, std::move(state)});
}

}  // namespace muster::agent
