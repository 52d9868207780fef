#include "scheduler/raft/codec.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "gossip/base/check.h"
#include "gossip/wire/message_table.h"

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

/// Missing in the messages of an earlier release, whose seats had no ids.
SeatId read_seat_id(Reader& in) {
  return in.left() > 0 ? in.num<SeatId>() : SeatId();
}

/// One element, empty if there is no hash.
void write(Encoder& out, const StateHash& hash) {
  out.array(hash.form == 0 ? 0 : 3);
  if (hash.form != 0) {
    out.u64(hash.form).num(hash.index).u64(hash.hash);
  }
}

/// Missing in the messages of an earlier release.
StateHash read_state_hash(Reader& in) {
  StateHash hash;
  Reader element = in.left() > 0 ? in.array() : in;
  if (element.left() > 0) {
    hash.form = element.u64();
    hash.index = read_number<LogIndex>(element, kWireNumberMax);
    hash.hash = element.u64();
  }
  if (!element.ok()) {
    in.fail();
  }
  return hash;
}

std::string body_of(const VoteRequest& message) {
  Encoder out;
  out.array(6).num(message.term).boolean(message.pre_vote);
  write(out, message.last);
  return out.u64(message.request).boolean(message.transfer).take();
}

VoteRequest read_vote_request(Reader& in) {
  VoteRequest message;
  message.term = read_number<Term>(in, kWireNumberMax);
  message.pre_vote = in.boolean();
  message.last = read_position(in, kWireNumberMax);
  message.request = in.u64();
  message.transfer = in.left() > 0 && in.boolean();
  return message;
}

std::string body_of(const VoteReply& message) {
  return Encoder()
      .array(5)
      .num(message.term)
      .boolean(message.pre_vote)
      .boolean(message.granted)
      .u64(message.request)
      .num(message.seat)
      .take();
}

VoteReply read_vote_reply(Reader& in) {
  VoteReply message;
  message.term = read_number<Term>(in, kWireNumberMax);
  message.pre_vote = in.boolean();
  message.granted = in.boolean();
  message.request = in.u64();
  message.seat = read_seat_id(in);
  return message;
}

std::string body_of(const AppendRequest& message) {
  Encoder out;
  out.array(10).num(message.term).u64(message.request).u64(message.round);
  write(out, message.previous);
  out.num(message.commit).array(message.entries.size());
  for (const LogEntry& entry : message.entries) {
    write(out, entry);
  }
  out.num(message.durable);
  write(out, message.agreed);
  out.num(message.committed);
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
  if (in.left() > 0) {
    message.durable = read_number<LogIndex>(in, kWireNumberMax);
  }
  message.agreed = read_state_hash(in);
  if (in.left() > 0) {
    message.committed = read_number<LogIndex>(in, kWireNumberMax);
  }
  return message;
}

void write(Encoder& out, const Answer& answer) {
  out.array(9);
  write(out, answer.commit);
  out.boolean(answer.leads).num(answer.mark.term);
  write(out, answer.mark.match);
  out.boolean(answer.mark.has_voted);
  write_voters(out, answer.voters);
  write_voters(out, answer.learners);
}

Answer read_answer(Reader in) {
  Answer answer;
  answer.commit = read_position(in, kWireNumberMax);
  answer.leads = in.boolean();
  answer.mark.term = read_number<Term>(in, kWireNumberMax);
  answer.mark.match = read_position(in, kWireNumberMax);
  answer.mark.has_voted = in.boolean();
  if (in.left() > 0) {
    Reader voters = in.array();
    answer.voters = read_voters(voters);
  }
  if (in.left() > 0) {
    Reader learners = in.array();
    answer.learners = read_voters(learners);
  }
  return answer;
}

std::string body_of(const AppendReply& message) {
  Encoder out;
  out.array(11).num(message.term).u64(message.request).u64(message.round).boolean(message.matched);
  out.num(message.match);
  write(out, message.hint);
  out.num(message.seat).u64(message.level);
  if (message.answer.has_value()) {
    write(out, *message.answer);
  } else {
    out.array(0);
  }
  write(out, message.state);
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
  message.seat = read_seat_id(in);
  message.level = in.left() > 0 ? in.u64() : 0;
  if (in.left() > 0) {
    Reader answer = in.array();
    if (answer.left() > 0) {
      message.answer = read_answer(answer);
    }
  }
  message.state = read_state_hash(in);
  return message;
}

std::string body_of(const SnapshotChunk& message) {
  Encoder out;
  out.array(8).num(message.term).u64(message.request);
  write(out, message.at);
  out.bytes(encode(message.configuration)).u64(message.total).u64(message.offset);
  return out.bytes(message.bytes).take();
}

SnapshotChunk read_snapshot_chunk(Reader& in) {
  SnapshotChunk message;
  message.term = read_number<Term>(in, kWireNumberMax);
  message.request = in.u64();
  message.at = read_position(in, kWireNumberMax);
  const auto configuration = decode_configuration(in.bytes());
  message.total = in.u64_at_most(kSnapshotBytesMax);
  message.offset = in.u64_at_most(message.total);
  message.bytes = in.text(std::min<std::uint64_t>(kSnapshotChunkBytes, message.total));
  const bool is_inside = message.bytes.size() <= message.total - message.offset;
  if (message.at.term > message.term || !configuration.has_value() || !is_inside) {
    in.fail();
    return message;
  }
  message.configuration = *configuration;
  return message;
}

std::string body_of(const SnapshotAck& message) {
  return Encoder()
      .array(6)
      .num(message.term)
      .u64(message.request)
      .num(message.at)
      .u64(message.next)
      .num(message.match)
      .num(message.seat)
      .take();
}

SnapshotAck read_snapshot_ack(Reader& in) {
  SnapshotAck message;
  message.term = read_number<Term>(in, kWireNumberMax);
  message.request = in.u64();
  message.at = read_number<LogIndex>(in, kWireNumberMax);
  message.next = in.u64_at_most(kSnapshotBytesMax);
  message.match = read_number<LogIndex>(in, kWireNumberMax);
  message.seat = read_seat_id(in);
  return message;
}

std::string body_of(const TimeoutNow& message) {
  return Encoder().array(1).num(message.term).take();
}

TimeoutNow read_timeout_now(Reader& in) {
  return {read_number<Term>(in, kWireNumberMax)};
}

/// A record's elements. nullopt if the record is missing or is not an array.
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

/// True if the record is absent: the voter never voted, or never compacted.
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

/// The configuration of the last snapshot, or, before the first snapshot, that of the founders.
bool recover_configuration(const crdt::Records& records, Configuration& configuration) {
  const auto found = records.find(std::string(kConfigurationKey));
  if (found != records.end()) {
    const auto decoded = decode_configuration(found->second);
    configuration = decoded.value_or(Configuration());
    return decoded.has_value();
  }
  return read_optional(records, kVotersKey,
                       [&](Reader& in) { configuration = founding(read_voters(in)); });
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
    if (entry->kind == LogEntryKind::kConfiguration && !decode_configuration(entry->command)) {
      return corrupt(std::string(kLogTable) + std::to_string(*index));
    }
    expected = expected.next();
    log.entries.push_back(*std::move(entry));
  }
  if (log.start.index.value() + log.entries.size() < log.snapshot.at.index.value()) {
    return corrupt(kLogTable);
  }
  return ok();
}

template <auto kRead>
constexpr auto kAsRaft = gossip::read_as<RaftMessage, kRead>;

constexpr gossip::BodyReader<RaftMessage> kRaftReaders[] = {
    {MessageType::kVoteRequest, kAsRaft<read_vote_request>},
    {MessageType::kVoteReply, kAsRaft<read_vote_reply>},
    {MessageType::kAppendRequest, kAsRaft<read_append_request>},
    {MessageType::kAppendReply, kAsRaft<read_append_reply>},
    {MessageType::kSnapshotChunk, kAsRaft<read_snapshot_chunk>},
    {MessageType::kSnapshotAck, kAsRaft<read_snapshot_ack>},
    {MessageType::kTimeoutNow, kAsRaft<read_timeout_now>},
};
static_assert(gossip::reads_all_of<gossip::Owner::kRaft>(kRaftReaders));

}  // namespace

MessageType type_of(const RaftMessage& message) {
  static constexpr MessageType kTypes[] = {MessageType::kVoteRequest,   MessageType::kVoteReply,
                                           MessageType::kAppendRequest, MessageType::kAppendReply,
                                           MessageType::kSnapshotChunk, MessageType::kSnapshotAck,
                                           MessageType::kTimeoutNow};
  static_assert(std::size(kTypes) == std::variant_size_v<RaftMessage>);
  return kTypes[message.index()];
}

std::string encode(const RaftMessage& message) {
  return std::visit([](const auto& body) { return body_of(body); }, message);
}

std::optional<RaftMessage> decode_raft_message(MessageType type, Reader body) {
  return gossip::read_body(kRaftReaders, type, std::move(body));
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

crdt::Write write_of(SeatId seat) {
  return {std::string(kSeatKey), Encoder().array(1).num(seat).take()};
}

crdt::Write write_of(const ClusterEpoch& epoch) {
  return {std::string(kEpochKey), Encoder().array(2).u64(epoch.counter).u64(epoch.lineage).take()};
}

crdt::Write write_of_given_up(const std::string& why) {
  return {std::string(kGivenUpKey), Encoder().array(1).text(why).take()};
}

crdt::Write write_of_copied(bool is_copy) {
  return {std::string(kCopiedKey),
          is_copy ? std::optional(Encoder().array(0).take()) : std::nullopt};
}

std::optional<std::string> recover_given_up(const crdt::Records& records) {
  if (!records.contains(std::string(kGivenUpKey))) {
    return std::nullopt;
  }
  constexpr std::size_t kWhyBytesMax = 1024;
  std::string why = "this host gave up its vote";
  read_optional(records, kGivenUpKey, [&](Reader& in) {
    std::string known = in.text(kWhyBytesMax);
    why = in.ok() ? std::move(known) : why;
  });
  return why;
}

void write_snapshot_to(const Snapshot& snapshot, LogPosition start, crdt::WriteBatch& batch) {
  Encoder out;
  out.array(4);
  write(out, snapshot.at);
  write(out, start);
  batch.push_back({std::string(kSnapshotKey), out.take()});
  batch.push_back({std::string(kSnapshotStateKey), snapshot.state});
  batch.push_back({std::string(kConfigurationKey), encode(snapshot.configuration)});
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
  log.is_copy = records.contains(std::string(kCopiedKey));
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
  if (!recover_configuration(records, log.snapshot.configuration)) {
    return corrupt(records.contains(std::string(kConfigurationKey)) ? kConfigurationKey
                                                                    : kVotersKey);
  }
  if (!read_optional(records, kSeatKey, [&](Reader& in) { log.seat = in.num<SeatId>(); })) {
    return corrupt(kSeatKey);
  }
  const auto read_epoch = [&](Reader& in) {
    log.epoch.counter = in.u64_at_most(gossip::kEpochCounterMax);
    log.epoch.lineage = in.u64();
  };
  if (!read_optional(records, kEpochKey, read_epoch) || log.epoch.counter == 0) {
    return corrupt(kEpochKey);
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
