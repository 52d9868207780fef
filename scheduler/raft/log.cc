#include "scheduler/raft/log.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "gossip/base/check.h"
#include "scheduler/raft/codec.h"

namespace muster::scheduler {

RaftLog::RaftLog(RecoveredLog& recovered)
    : start_(recovered.start),
      snapshot_(std::make_shared<const Snapshot>(std::move(recovered.snapshot))),
      configurations_(snapshot_->configuration),
      entries_(std::make_move_iterator(recovered.entries.begin()),
               std::make_move_iterator(recovered.entries.end())),
      durable_(last_index()) {
  for (LogIndex index = snapshot_->at.index; index.value() < last_index();) {
    index = index.next();
    note_configuration(index, entry(index));
  }
  check_invariants();
}

LogPosition RaftLog::last() const {
  if (entries_.empty()) {
    return start_;
  }
  return {LogIndex(last_index()), entries_.back().term};
}

std::optional<Term> RaftLog::term_at(LogIndex index) const {
  if (index == start_.index) {
    return start_.term;
  }
  if (index < start_.index || index.value() > last_index()) {
    return std::nullopt;
  }
  return entry(index).term;
}

const LogEntry& RaftLog::entry(LogIndex index) const {
  CHECK(index > start_.index);
  CHECK(index.value() <= last_index());
  return entries_[index.value() - start_.index.value() - 1];
}

std::vector<LogEntry> RaftLog::slice(LogIndex first, std::size_t bytes_max,
                                     std::size_t count_max) const {
  std::vector<LogEntry> entries;
  std::size_t bytes = 0;
  for (LogIndex index = first; index.value() <= last_index(); index = index.next()) {
    const LogEntry& next = entry(index);
    bytes += next.command.size();
    if (!entries.empty() && (bytes > bytes_max || entries.size() >= count_max)) {
      break;
    }
    entries.push_back(next);
  }
  return entries;
}

bool RaftLog::up_to_date(LogPosition other) const {
  const LogPosition mine = last();
  return other.term > mine.term || (other.term == mine.term && other.index >= mine.index);
}

LogPosition RaftLog::last_not_after(LogPosition position) const {
  std::uint64_t index = std::min(position.index.value(), last_index());
  if (index < start_.index.value()) {
    return {LogIndex(index), Term()};
  }
  while (index > start_.index.value() && entry(LogIndex(index)).term > position.term) {
    --index;
  }
  return {LogIndex(index), *term_at(LogIndex(index))};
}

void RaftLog::append(LogEntry entry, crdt::WriteBatch& batch) {
  CHECK(entry.term >= last().term);
  entries_.push_back(std::move(entry));
  batch.push_back(write_of(LogIndex(last_index()), entries_.back()));
  note_configuration(LogIndex(last_index()), entries_.back());
}

void RaftLog::note_configuration(LogIndex index, const LogEntry& entry) {
  if (entry.kind == LogEntryKind::kConfiguration) {
    std::optional<Configuration> configuration = decode_configuration(entry.command);
    CHECK(configuration.has_value());
    configurations_.append(index, *std::move(configuration));
  }
}

void RaftLog::truncate_from(LogIndex first, crdt::WriteBatch& batch) {
  CHECK(first > snapshot_->at.index);
  while (last_index() >= first.value()) {
    batch.push_back(erase_of(LogIndex(last_index())));
    entries_.pop_back();
  }
  configurations_.truncate_from(first);
  lower_durable(last_index());
}

/// Lowers the indexes of earlier batches too: else their completion would count entries that a
/// later batch removed. Another library has this fault.
void RaftLog::lower_durable(std::uint64_t to) {
  durable_ = std::min(durable_, to);
  for (Pending& pending : pending_) {
    pending.last_index = std::min(pending.last_index, to);
  }
}

void RaftLog::drop_front(std::uint64_t up_to, crdt::WriteBatch& batch) {
  while (start_.index.value() < up_to && !entries_.empty()) {
    start_ = {start_.index.next(), entries_.front().term};
    batch.push_back(erase_of(start_.index));
    entries_.pop_front();
  }
}

/// The last index up to `at` that is not kept.
std::uint64_t RaftLog::before_kept(LogIndex at, std::size_t count, std::size_t bytes) const {
  std::uint64_t index = at.value();
  for (std::size_t kept = 0; kept < count && index > start_.index.value(); ++kept, --index) {
    const std::size_t size = entry(LogIndex(index)).command.size();
    if (size > bytes) {
      break;
    }
    bytes -= size;
  }
  return index;
}

void RaftLog::compact(LogIndex at, std::string state, std::size_t count_kept,
                      std::size_t bytes_kept, crdt::WriteBatch& batch) {
  CHECK(at > snapshot_->at.index);
  const std::optional<Term> term = term_at(at);
  CHECK(term.has_value());
  configurations_.compact(at);
  snapshot_ = std::make_shared<const Snapshot>(
      Snapshot{{at, *term}, std::move(state), configurations_.at(at)});
  drop_front(before_kept(at, count_kept, bytes_kept), batch);
  write_snapshot(batch);
}

void RaftLog::install(Snapshot snapshot, crdt::WriteBatch& batch) {
  CHECK(snapshot.at.index > snapshot_->at.index);
  const bool suffix_holds = holds(snapshot.at);
  configurations_.install(snapshot.at.index, snapshot.configuration, suffix_holds);
  snapshot_ = std::make_shared<const Snapshot>(std::move(snapshot));
  if (suffix_holds) {
    drop_front(snapshot_->at.index.value(), batch);
  } else {
    drop_front(last_index(), batch);
    start_ = snapshot_->at;
    lower_durable(0);
  }
  write_snapshot(batch);
}

void RaftLog::write_snapshot(crdt::WriteBatch& batch) const {
  write_snapshot_to(*snapshot_, start_, batch);
}

void RaftLog::erase_all(crdt::WriteBatch& batch) const {
  for (std::uint64_t index = start_.index.value(); index < last_index();) {
    batch.push_back(erase_of(LogIndex(++index)));
  }
  for (const std::string_view key : {kSnapshotKey, kSnapshotStateKey, kConfigurationKey}) {
    batch.push_back({std::string(key), std::nullopt});
  }
}

void RaftLog::note_batch(std::uint64_t batch) {
  if (!pending_.empty() && pending_.back().batch == batch) {
    pending_.back().last_index = last_index();
    return;
  }
  CHECK(pending_.empty() || pending_.back().batch < batch);
  pending_.push_back({batch, last_index()});
}

void RaftLog::persisted(std::uint64_t batch) {
  while (!pending_.empty() && pending_.front().batch <= batch) {
    durable_ = std::max(durable_, pending_.front().last_index);
    pending_.pop_front();
  }
}

void RaftLog::check_invariants() const {
  CHECK(start_.index <= snapshot_->at.index);
  CHECK(snapshot_->at.index.value() <= last_index());
  CHECK(durable_ <= last_index());
}

}  // namespace muster::scheduler
