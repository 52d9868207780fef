#include "scheduler/raft/codec.h"

#include <type_traits>
#include <utility>

#include "gossip/base/check.h"

namespace muster::scheduler {
namespace {

using gossip::Encoder;
using gossip::MessageType;
using gossip::Reader;

template <class Number>
Number read_number(Reader& in, std::uint64_t max) {
  return Number(in.u64_at_most(max));
}

void write(Encoder& out, LogPosition position) {
  out.num(position.index).num(position.term);
}

LogPosition read_position(Reader& in, std::uint64_t max) {
  const auto index = read_number<LogIndex>(in, max);
  return {index, read_number<Term>(in, max)};
}

void write(Encoder& out, const LogEntry& entry) {
  out.array(3).num(entry.term).u64(static_cast<std::uint64_t>(entry.kind)).bytes(entry.command);
}

LogEntry read_entry(Reader in, std::uint64_t max) {
  LogEntry entry;
  entry.term = read_number<Term>(in, max);
  entry.kind = static_cast<LogEntryKind>(in.u64_at_most(255));
  entry.command = in.text(kEntryBytesMax);
  return entry;
}

std::string body_of(const VoteRequest& message) {
  Encoder out;
  out.array(5).num(message.term).boolean(message.pre_vote);
  write(out, message.last);
  return out.u64(message.request).take();
}

VoteRequest read_vote_request(Reader& in) {
  VoteRequest message;
  message.term = read_number<Term>(in, kWireNumberMax);
  message.pre_vote = in.boolean();
  message.last = read_position(in, kWireNumberMax);
  message.request = in.u64();
  return message;
}

std::string body_of(const VoteReply& message) {
  return Encoder()
      .array(4)
      .num(message.term)
      .boolean(message.pre_vote)
      .boolean(message.granted)
      .u64(message.request)
      .take();
}

VoteReply read_vote_reply(Reader& in) {
  VoteReply message;
  message.term = read_number<Term>(in, kWireNumberMax);
  message.pre_vote = in.boolean();
  message.granted = in.boolean();
  message.request = in.u64();
  return message;
}

std::string body_of(const AppendRequest& message) {
  Encoder out;
  out.array(7).num(message.term).u64(message.request).u64(message.round);
  write(out, message.previous);
  out.num(message.commit).array(message.entries.size());
  for (const LogEntry& entry : message.entries) {
    write(out, entry);
  }
  return out.take();
}

AppendRequest read_append_request(Reader& in) {
  AppendRequest message;
  message.term = read_number<Term>(in, kWireNumberMax);
  message.request = in.u64();
  message.round = in.u64();
  message.previous = read_position(in, kWireNumberMax);
  message.commit = read_number<LogIndex>(in, kWireNumberMax);
  Reader entries = in.array();
  Term lowest = message.previous.term;
  while (entries.ok() && entries.left() > 0) {
    LogEntry entry = read_entry(entries.array(), kWireNumberMax);
    if (entry.term < lowest || entry.term > message.term) {
      in.fail();
      break;
    }
    lowest = entry.term;
    message.entries.push_back(std::move(entry));
  }
  return message;
}

std::string body_of(const AppendReply& message) {
  Encoder out;
  out.array(7).num(message.term).u64(message.request).u64(message.round).boolean(message.matched);
  out.num(message.match);
  write(out, message.hint);
  return out.take();
}

AppendReply read_append_reply(Reader& in) {
  AppendReply message;
  message.term = read_number<Term>(in, kWireNumberMax);
  message.request = in.u64();
  message.round = in.u64();
  message.matched = in.boolean();
  message.match = read_number<LogIndex>(in, kWireNumberMax);
  message.hint = read_position(in, kWireNumberMax);
  return message;
}

std::string body_of(const SnapshotRequest& message) {
  Encoder out;
  out.array(5).num(message.term).u64(message.request);
  write(out, message.snapshot.at);
  return out.bytes(message.snapshot.state).take();
}

SnapshotRequest read_snapshot_request(Reader& in) {
  SnapshotRequest message;
  message.term = read_number<Term>(in, kWireNumberMax);
  message.request = in.u64();
  message.snapshot.at = read_position(in, kWireNumberMax);
  message.snapshot.state = in.text(kSnapshotBytesMax);
  if (message.snapshot.at.term > message.term) {
    in.fail();
  }
  return message;
}

std::string body_of(const SnapshotReply& message) {
  return Encoder().array(3).num(message.term).u64(message.request).num(message.match).take();
}

SnapshotReply read_snapshot_reply(Reader& in) {
  SnapshotReply message;
  message.term = read_number<Term>(in, kWireNumberMax);
  message.request = in.u64();
  message.match = read_number<LogIndex>(in, kWireNumberMax);
  return message;
}

/// A record's elements, or nothing when it is missing or no array.
std::optional<gossip::Document> record(const crdt::Records& records, std::string_view key) {
  const auto found = records.find(std::string(key));
  if (found == records.end()) {
    return std::nullopt;
  }
  Result<gossip::Document> document = gossip::Document::parse(found->second);
  if (!document) {
    return std::nullopt;
  }
  return std::move(document).value();
}

Error corrupt(std::string_view key) {
  return Error{ErrorCode::kCorrupt, "record '" + std::string(key) +
                                        "' is missing or unreadable: this disk holds no "
                                        "usable log"};
}

/// Absent is fine: a voter that never voted, never compacted.
template <class Read>
bool read_optional(const crdt::Records& records, std::string_view key, Read read) {
  if (!records.contains(std::string(key))) {
    return true;
  }
  const std::optional<gossip::Document> document = record(records, key);
  if (!document.has_value()) {
    return false;
  }
  Reader in = document->root();
  read(in);
  return in.ok();
}

std::optional<LogEntry> parse_entry(const std::string& bytes) {
  const Result<gossip::Document> document = gossip::Document::parse(bytes);
  if (!document) {
    return std::nullopt;
  }
  Reader in = document->root();
  LogEntry entry = read_entry(in, kNumberMax);
  if (!in.ok()) {
    return std::nullopt;
  }
  return entry;
}

Status recover_entries(const crdt::Records& records, RecoveredLog& log) {
  Term lowest = log.start.term;
  LogIndex expected = log.start.index.next();
  for (auto at = records.lower_bound(std::string(kLogTable)); at != records.end(); ++at) {
    const std::optional<std::uint64_t> index = crdt::number_of(kLogTable, at->first);
    if (!index.has_value()) {
      break;
    }
    std::optional<LogEntry> entry = parse_entry(at->second);
    if (!entry.has_value() || *index != expected.value() || entry->term < lowest) {
      return corrupt(std::string(kLogTable) + std::to_string(*index));
    }
    lowest = entry->term;
    expected = expected.next();
    log.entries.push_back(*std::move(entry));
  }
  if (log.start.index.value() + log.entries.size() < log.snapshot.at.index.value()) {
    return corrupt(kLogTable);
  }
  return ok();
}

}  // namespace

MessageType type_of(const RaftMessage& message) {
  static constexpr MessageType kTypes[] = {
      MessageType::kVoteRequest, MessageType::kVoteReply,       MessageType::kAppendRequest,
      MessageType::kAppendReply, MessageType::kSnapshotRequest, MessageType::kSnapshotReply};
  static_assert(std::size(kTypes) == std::variant_size_v<RaftMessage>);
  return kTypes[message.index()];
}

std::string encode(const RaftMessage& message) {
  return std::visit([](const auto& body) { return body_of(body); }, message);
}

std::optional<RaftMessage> decode_raft_message(MessageType type, Reader body) {
  std::optional<RaftMessage> message;
  if (type == MessageType::kVoteRequest) {
    message = read_vote_request(body);
  } else if (type == MessageType::kVoteReply) {
    message = read_vote_reply(body);
  } else if (type == MessageType::kAppendRequest) {
    message = read_append_request(body);
  } else if (type == MessageType::kAppendReply) {
    message = read_append_reply(body);
  } else if (type == MessageType::kSnapshotRequest) {
    message = read_snapshot_request(body);
  } else if (type == MessageType::kSnapshotReply) {
    message = read_snapshot_reply(body);
  }
  return body.ok() ? message : std::nullopt;
}

crdt::Write write_of(const HardState& hard_state) {
  return {std::string(kHardStateKey),
          Encoder().array(2).num(hard_state.term).id(hard_state.vote).take()};
}

crdt::Write write_of(LogIndex index, const LogEntry& entry) {
  Encoder out;
  write(out, entry);
  return {crdt::key_of(kLogTable, index.value()), out.take()};
}

crdt::Write erase_of(LogIndex index) {
  return {crdt::key_of(kLogTable, index.value()), std::nullopt};
}

crdt::Write write_of_voters(const std::vector<HostId>& voters) {
  Encoder out;
  write_voters(out, voters);
  return {std::string(kVotersKey), out.take()};
}

void write_snapshot_to(const Snapshot& snapshot, LogPosition start, crdt::WriteBatch& batch) {
  Encoder out;
  out.array(4);
  write(out, snapshot.at);
  write(out, start);
  batch.push_back({std::string(kSnapshotKey), out.take()});
  batch.push_back({std::string(kSnapshotStateKey), snapshot.state});
}

void write_voters(Encoder& out, const std::vector<HostId>& voters) {
  out.array(voters.size());
  for (const HostId& voter : voters) {
    out.id(voter);
  }
}

std::vector<HostId> read_voters(Reader& in) {
  std::vector<HostId> voters;
  if (in.left() > kVotersMax) {
    in.fail();
  }
  while (in.ok() && in.left() > 0) {
    const auto voter = in.id<HostId>();
    if (voter.is_zero() || (!voters.empty() && voter <= voters.back())) {
      in.fail();
    }
    voters.push_back(voter);
  }
  return voters;
}

Result<RecoveredLog> recover_log(const crdt::Records& records) {
  RecoveredLog log;
  const auto read_hard = [&](Reader& in) {
    log.hard_state.term = read_number<Term>(in, kNumberMax);
    log.hard_state.vote = in.id<HostId>();
  };
  const auto read_snapshot = [&](Reader& in) {
    log.snapshot.at = read_position(in, kNumberMax);
    log.start = read_position(in, kNumberMax);
  };
  if (!read_optional(records, kHardStateKey, read_hard)) {
    return corrupt(kHardStateKey);
  }
  if (!read_optional(records, kVotersKey, [&](Reader& in) { log.voters = read_voters(in); })) {
    return corrupt(kVotersKey);
  }
  if (!read_optional(records, kSnapshotKey, read_snapshot) ||
      log.start.index > log.snapshot.at.index) {
    return corrupt(kSnapshotKey);
  }
  if (log.snapshot.at.index.value() > 0) {
    const auto state = records.find(std::string(kSnapshotStateKey));
    if (state == records.end()) {
      return corrupt(kSnapshotStateKey);
    }
    log.snapshot.state = state->second;
  }
  if (Status entries = recover_entries(records, log); !entries) {
    return entries.error();
  }
  const Term last = log.entries.empty() ? log.start.term : log.entries.back().term;
  if (last > log.hard_state.term) {
    return corrupt(kHardStateKey);
  }
  return log;
}

}  // namespace muster::scheduler
