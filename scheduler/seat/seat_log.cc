#include "scheduler/seat/seat_log.h"

#include <algorithm>
#include <string>
#include <utility>

#include "scheduler/raft/types.h"

namespace muster::scheduler {
namespace {

void compact(Instant now, LogIndex applied, std::string state, Raft& raft,
             std::vector<Event>& events) {
  if (state.size() > kSnapshotBytesMax) {
    // A snapshot that cannot be sent would shut out a voter that needs it: the log grows instead.
    events.push_back(
        {Severity::kAlarm, "log_not_compacted", {{"state_bytes", std::to_string(state.size())}}});
    return;
  }
  raft.step(now, Raft::Compact{applied, std::move(state)});
}

}  // namespace

void SeatLog::tell_commit(LogIndex commit) {
  told_commit_ = std::max(told_commit_, commit);
}

void SeatLog::apply(Instant now, CommittedEntry entry, Raft& raft, Scheduler& scheduler,
                    std::vector<Event>& events) {
  events.push_back({Severity::kDebug,
                    "applied",
                    {{"index", std::to_string(entry.index.value())},
                     {"term", std::to_string(entry.term.value())}}});
  // An entry of the present term proves that all entries acknowledged before it are applied here;
  // but its leader may have committed far more since.
  is_caught_up_ = is_caught_up_ || (entry.term == raft.term() && entry.index >= told_commit_);
  applied_term_ = entry.term;
  const bool is_command = entry.kind == LogEntryKind::kCommand;
  const std::string command = is_command ? std::move(entry.command) : std::string();
  const LogIndex before = scheduler.state().applied();
  scheduler.step(now, input::Applied{entry.index, command,
                                     raft.log().configuration_at(entry.index).voter_hosts()});
  if (before < entry.index && scheduler.state().applied() == entry.index) {
    hasher_.applied(entry.term, command, scheduler.state());
    look_back(now, raft, scheduler.state(), events);
  }
}

/// Hashes the state, and compacts the log, at the indexes that all voters choose alike.
void SeatLog::look_back(Instant now, Raft& raft, const State& state, std::vector<Event>& events) {
  const LogIndex applied = state.applied();
  if (!hasher_.is_point(applied)) {
    return;
  }
  const bool is_due = hasher_.is_snapshot_due(applied);
  std::string encoded = hasher_.is_deep(applied) ? state.encode() : std::string();
  raft.step(now, Raft::Hashed{hasher_.hash(applied, encoded)});
  if (is_due) {
    compact(now, applied, std::move(encoded), raft, events);
  }
}

}  // namespace muster::scheduler
