// Audit: what it asks for, when, and what it answers.

#include "crdt/store/audit.h"

#include <gtest/gtest.h>

#include "gossip/wire/wire.h"

namespace muster::crdt {
namespace {

HostId host(char letter) {
  return HostId::from_bytes(std::string(15, 'h') + letter);
}

RowVersion version(std::uint64_t sequence) {
  return {Generation(1), Sequence(sequence)};
}

class AuditTest : public ::testing::Test {
 protected:
  static void hold(HeldRows& rows, HostId owner, std::uint64_t sequence) {
    HeldRow& held = rows.edit(owner);
    held.row.fields[4] = Field{version(sequence), "bytes"};
    rows.changed(owner, held);
    WriteBatch writes;
    rows.write_changed(writes);
    rows.check_rows();
  }
  void pass(Duration duration) {
    now_ += duration;
    audit_.tick(now_, rows_, {host('b')}, messages_);
    audit_.check_invariants();
  }
  RowsBody only_body() {
    EXPECT_EQ(messages_.size(), 1U);
    const auto document = gossip::Document::parse(messages_.at(0).body);
    RowsBody body = decode_rows(document->root()).value();
    messages_.clear();
    return body;
  }

  Audit audit_{host('a'), Rng(1)};
  HeldRows rows_;
  std::vector<RowsMessage> messages_;
  Instant now_{};
};

TEST_F(AuditTest, AVersionThatTheFloodBringsMeanwhileIsNotAskedFor) {
  hold(rows_, host('b'), 1);
  hold(rows_, host('c'), 1);
  audit_.note_version(now_, host('b'), version(2), rows_);
  audit_.note_version(now_, host('c'), version(2), rows_);
  audit_.note_version(now_, host('d'), version(1), rows_);
  hold(rows_, host('c'), 2);
  hold(rows_, host('d'), 1);
  EXPECT_EQ(audit_.next_deadline(), now_ + kAskDelay);
  pass(kAskDelay);
  EXPECT_EQ(messages_.at(0).to, host('b'));
  EXPECT_EQ(only_body().want, std::vector{host('b')});
  EXPECT_EQ(audit_.next_deadline(), Instant{} + kAuditPeriod);
}

TEST_F(AuditTest, WhoBecameANeighbourIsAskedAMomentLaterIfItStillIsOne) {
  audit_.meet(now_, {});
  EXPECT_EQ(audit_.next_deadline(), Instant{} + kAuditPeriod);
  audit_.meet(now_, {host('b'), host('c')});
  EXPECT_EQ(audit_.next_deadline(), now_ + kMeetDelay);
  pass(kMeetDelay);
  EXPECT_EQ(messages_.at(0).to, host('b'));
  EXPECT_EQ(only_body().audit, rows_.digest());
  pass(kMeetDelay);
  EXPECT_TRUE(messages_.empty()) << "once";
}

TEST_F(AuditTest, NobodyIsAskedForOurOwnRowOrAVersionThatIsHeld) {
  hold(rows_, host('b'), 2);
  audit_.note_version(now_, host('a'), version(2), rows_);
  audit_.note_version(now_, host('b'), version(2), rows_);
  pass(kAskDelay);
  EXPECT_TRUE(messages_.empty());
}

TEST_F(AuditTest, AnAuditIsAnsweredWithDigestsExactlyWhenTheyDiffer) {
  hold(rows_, host('a'), 1);
  HeldRows theirs;
  hold(theirs, host('b'), 2);
  pass(kAuditPeriod);
  const RowsBody question = only_body();
  EXPECT_EQ(question.audit, rows_.digest());

  const Audit other(host('b'), Rng(2));
  other.answer(host('a'), question, rows_, messages_);
  EXPECT_TRUE(messages_.empty()) << "the same rows";
  other.answer(host('a'), question, theirs, messages_);
  const RowsBody answer = only_body();
  EXPECT_TRUE(answer.complete);
  ASSERT_EQ(answer.digests.size(), 1U);
  EXPECT_EQ(answer.digests[0].host, host('b'));

  audit_.answer(host('b'), answer, rows_, messages_);
  const RowsBody rest = only_body();
  EXPECT_TRUE(rest.want.empty()) << "the other's own row came along";
  ASSERT_EQ(rest.rows.size(), 1U);
  EXPECT_EQ(rest.rows[0].host, host('a'));
}

TEST_F(AuditTest, ARowThatIsWantedManyTimesIsSentOnce) {
  hold(rows_, host('a'), 1);
  RowsBody question;
  question.want.assign(1000, host('a'));
  question.digests.assign(1000, {host('a'), 1});
  audit_.answer(host('b'), question, rows_, messages_);
  EXPECT_EQ(only_body().rows.size(), 1U);
}

}  // namespace
}  // namespace muster::crdt
