// Goal: the log's arithmetic, its durable mark and its bytes. Method: small tables; the test reads
// the written records back.

#include "scheduler/raft/log.h"

#include <gtest/gtest.h>

#include "gossip/base/rng.h"
#include "scheduler/raft/codec.h"

namespace muster::scheduler {
namespace {

LogEntry entry(std::uint64_t term, std::string command = "c") {
  return {Term(term), LogEntryKind::kCommand, std::move(command)};
}

LogPosition at(std::uint64_t index, std::uint64_t term) {
  return {LogIndex(index), Term(term)};
}

class LogTest : public testing::Test {
 protected:
  void append(std::vector<std::uint64_t> terms) {
    for (const std::uint64_t term : terms) {
      log.append(entry(term), batch);
    }
  }
  void truncate_from(std::uint64_t index) { log.truncate_from(LogIndex(index), batch); }
  /// The log as a restart would read it.
  RecoveredLog reread() {
    for (const crdt::Write& write : batch) {
      records.erase(write.key);
      if (write.value.has_value()) {
        records.emplace(write.key, *write.value);
      }
    }
    batch.clear();
    records[std::string(kHardStateKey)] = *write_of(HardState{Term(99), HostId()}).value;
    return recover_log(records).value();
  }

  RecoveredLog empty;
  RaftLog log{empty};
  crdt::WriteBatch batch;
  crdt::Records records;
};

TEST_F(LogTest, LastNotAfterPassesOverHigherTerms) {
  append({1, 1, 4, 4, 5, 5, 6});
  EXPECT_EQ(log.last_not_after(at(7, 5)), at(6, 5));
  EXPECT_EQ(log.last_not_after(at(7, 3)), at(2, 1));
  EXPECT_EQ(log.last_not_after(at(40, 6)), at(7, 6));
  EXPECT_EQ(log.last_not_after(at(4, 9)), at(4, 4));
  EXPECT_EQ(log.last_not_after(at(4, 0)), at(0, 0));
}

TEST_F(LogTest, UpToDateComparesTermThenIndex) {
  append({1, 2, 2});
  EXPECT_TRUE(log.up_to_date(at(3, 2)));
  EXPECT_TRUE(log.up_to_date(at(1, 3)));
  EXPECT_FALSE(log.up_to_date(at(2, 2)));
  EXPECT_FALSE(log.up_to_date(at(9, 1)));
}

TEST_F(LogTest, DurableNeverCountsTruncatedEntries) {
  append({1, 1, 1});
  log.note_batch(1);
  truncate_from(2);
  append({2});
  log.note_batch(2);
  log.persisted(1);
  EXPECT_EQ(log.durable(), LogIndex(1)) << "the first batch's entries 2 and 3 are gone";
  log.persisted(2);
  EXPECT_EQ(log.durable(), LogIndex(2));
}

TEST_F(LogTest, TruncationLowersWhatWasDurable) {
  append({1, 1, 1});
  log.note_batch(1);
  log.persisted(1);
  truncate_from(3);
  EXPECT_EQ(log.durable(), LogIndex(2));
}

TEST_F(LogTest, SliceGivesAtLeastOneEntryThenObeysBothLimits) {
  log.append(entry(1, std::string(100, 'a')), batch);
  append({1, 1, 1});
  EXPECT_EQ(log.slice(LogIndex(1), 10, 10).size(), 1U);
  EXPECT_EQ(log.slice(LogIndex(1), 101, 10).size(), 2U);
  EXPECT_EQ(log.slice(LogIndex(2), 1000, 2).size(), 2U);
  EXPECT_TRUE(log.slice(LogIndex(5), 1000, 2).empty());
}

TEST_F(LogTest, CompactionKeepsSomeEntriesAndIsReadBack) {
  append({1, 1, 2, 2, 3});
  log.compact(LogIndex(4), "state", 2, 1000, batch);
  EXPECT_EQ(log.start(), at(2, 1));
  EXPECT_EQ(log.term_at(LogIndex(1)), std::nullopt);
  const RecoveredLog again = reread();
  EXPECT_EQ(again.snapshot, (Snapshot{at(4, 2), "state"}));
  EXPECT_EQ(again.start, at(2, 1));
  EXPECT_EQ(again.entries.size(), 3U);
}

TEST_F(LogTest, CompactionKeepsNoMoreBytesThanItMay) {
  for (const std::size_t bytes : {50U, 40U, 100U, 1U}) {
    log.append(entry(1, std::string(bytes, 'a')), batch);
  }
  log.compact(LogIndex(3), "state", 3, 140, batch);
  EXPECT_EQ(log.start(), at(1, 1)) << "40 and 100 fit, 50 more do not";
  EXPECT_EQ(reread().entries.size(), 3U) << "what is behind the snapshot stays";
}

TEST_F(LogTest, InstallKeepsASuffixThatMatchesAndDropsOneThatDoesNot) {
  append({1, 1, 2});
  log.install({at(2, 1), "s"}, batch);
  EXPECT_EQ(log.last(), at(3, 2));
  log.install({at(3, 5), "t"}, batch);
  EXPECT_EQ(log.last(), at(3, 5));
  EXPECT_EQ(log.durable(), LogIndex(0)) << "until the snapshot is on disk";
  EXPECT_TRUE(reread().entries.empty());
}

TEST_F(LogTest, GapsAndFallingTermsAreCorrupt) {
  append({1, 2, 3});
  reread();
  crdt::Records gap = records;
  gap.erase(crdt::key_of(kLogTable, 2));
  EXPECT_EQ(recover_log(gap).error().code, ErrorCode::kCorrupt);
  crdt::Records falling = records;
  falling[crdt::key_of(kLogTable, 3)] = *write_of(LogIndex(3), entry(1)).value;
  EXPECT_EQ(recover_log(falling).error().code, ErrorCode::kCorrupt);
  crdt::Records no_term = records;
  no_term.erase(std::string(kHardStateKey));
  EXPECT_EQ(recover_log(no_term).error().code, ErrorCode::kCorrupt);
}

std::optional<RaftMessage> reparse(const RaftMessage& message) {
  const auto document = gossip::Document::parse(encode(message));
  return decode_raft_message(type_of(message), document->root());
}

HostId some_host(std::uint8_t number) {
  std::array<std::uint8_t, HostId::kSizeBytes> bytes{};
  bytes[0] = number;
  return HostId(bytes);
}

Configuration some_configuration() {
  return founding({some_host(1), some_host(2), some_host(3)})
      .with_learner({some_host(4), SeatId(44)});
}

TEST(RaftCodec, EveryMessageRoundTrips) {
  const std::vector<RaftMessage> messages = {
      VoteRequest{Term(3), true, at(7, 2), 9},
      VoteReply{Term(3), false, true, 9},
      AppendRequest{Term(4), 5, 6, at(7, 2), LogIndex(6), {entry(2), entry(4, "")}},
      AppendRequest{Term(4), 5, 6, at(7, 2), LogIndex(6), {}, LogIndex(7)},
      AppendReply{Term(4), 5, 6, true, LogIndex(8), at(1, 1)},
      AppendReply{Term(4),
                  5,
                  6,
                  false,
                  {},
                  {},
                  SeatId(9),
                  2,
                  Answer{at(7, 2), true, {Term(3), at(8, 3), true}, {host(1), host(2)}, {host(3)}}},
      SnapshotChunk{Term(4), 5, at(7, 2), some_configuration(), 2000, 1000, std::string(1000, 's')},
      SnapshotAck{Term(4), 5, LogIndex(7), 1000, LogIndex(7), SeatId(9)},
      TimeoutNow{Term(4)},
      AppendRequest{Term(4), 5, 6, at(7, 2), LogIndex(6), {}, LogIndex(7), {1, LogIndex(5), 77}},
      AppendReply{Term(4), 5, 6, true, LogIndex(8), {}, SeatId(9), 2, {}, {1, LogIndex(5), 77}}};
  for (const RaftMessage& message : messages) {
    EXPECT_EQ(reparse(message), message);
  }
}

TEST(RaftCodec, PartsBeyondTheWholeAreRefused) {
  EXPECT_FALSE(reparse(SnapshotChunk{Term(4), 5, at(7, 2), {}, 4, 2, "abc"}).has_value());
  EXPECT_FALSE(reparse(SnapshotChunk{Term(4), 5, at(7, 2), {}, 4, 5, ""}).has_value());
  EXPECT_FALSE(
      reparse(SnapshotChunk{Term(4), 5, at(7, 2), {}, kSnapshotBytesMax + 1, 0, ""}).has_value());
}

TEST(RaftCodec, UnknownEntryKindsDecodeAndImpossibleTermsDoNot) {
  LogEntry unknown = entry(4);
  unknown.kind = static_cast<LogEntryKind>(200);
  const RaftMessage newer = AppendRequest{Term(4), 1, 1, {}, {}, {unknown}};
  EXPECT_EQ(reparse(newer), newer);
  EXPECT_FALSE(reparse(AppendRequest{Term(4), 1, 1, {}, {}, {entry(5)}}).has_value());
  EXPECT_FALSE(reparse(AppendRequest{Term(4), 1, 1, at(1, 3), {}, {entry(2)}}).has_value());
}

TEST(RaftCodec, NumbersThatLeaveNoRoomAreRefusedOnTheWire) {
  const std::uint64_t high = kWireNumberMax + 1;
  const LogPosition far{LogIndex(high), Term(1)};
  const std::vector<RaftMessage> messages = {
      VoteRequest{Term(high), true, {}, 1},
      VoteRequest{Term(1), true, far, 1},
      VoteReply{Term(high), true, true, 1},
      AppendRequest{Term(high), 1, 1, {}, {}, {}},
      AppendRequest{Term(1), 1, 1, far, {}, {}},
      AppendRequest{Term(1), 1, 1, {}, LogIndex(high), {}},
      AppendReply{Term(high), 1, 1, true, {}, {}},
      AppendReply{Term(1), 1, 1, true, LogIndex(high), {}},
      AppendReply{Term(1), 1, 1, false, {}, far},
      AppendReply{Term(1), 1, 1, true, {}, {}, {}, 1, {}, {1, LogIndex(high), 1}},
      SnapshotChunk{Term(high), 1, {}, {}, 0, 0, {}},
      SnapshotChunk{Term(1), 1, far, {}, 0, 0, {}},
      SnapshotAck{Term(high), 1, {}, 0, {}, {}},
      SnapshotAck{Term(1), 1, {}, 0, LogIndex(high), {}},
      TimeoutNow{Term(high)}};
  for (const RaftMessage& message : messages) {
    EXPECT_FALSE(reparse(message).has_value()) << message.index();
  }
  EXPECT_TRUE(reparse(VoteRequest{Term(kWireNumberMax), true, {}, 1}).has_value());
}

TEST(RecoverLog, ATermAboveThatOfTheWireIsReadBack) {
  crdt::Records records = {};
  const crdt::Write write = write_of(HardState{Term(kWireNumberMax + 5), HostId()});
  records[write.key] = *write.value;
  const Result<RecoveredLog> log = recover_log(records);
  ASSERT_TRUE(log.has_value());
  EXPECT_EQ(log->hard_state.term, Term(kWireNumberMax + 5));
}

TEST(RaftCodec, MutatedBytesNeverCrashTheDecoder) {
  Rng rng(1);
  const RaftMessage message = AppendRequest{Term(4), 5, 6, at(7, 2), LogIndex(6), {entry(2)}};
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes = encode(message);
    for (std::uint64_t i = rng.below(3) + 1; i > 0; --i) {
      bytes[rng.below(bytes.size())] = static_cast<char>(rng.below(256));
    }
    if (const auto document = gossip::Document::parse(bytes); document) {
      decode_raft_message(static_cast<gossip::MessageType>(20 + rng.below(9)), document->root());
    }
  }
}

}  // namespace
}  // namespace muster::scheduler
