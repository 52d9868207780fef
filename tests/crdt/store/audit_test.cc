// Tests of Audit: its questions, their times, and its answers.

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

  Audit other(host('b'), Rng(2));
  other.answer(now_, host('a'), question, rows_, messages_);
  EXPECT_TRUE(messages_.empty()) << "the same rows";
  other.answer(now_, host('a'), question, theirs, messages_);
  const RowsBody answer = only_body();
  EXPECT_TRUE(answer.complete);
  ASSERT_EQ(answer.digests.size(), 1U);
  EXPECT_EQ(answer.digests[0].host, host('b'));

  audit_.answer(now_, host('b'), answer, rows_, messages_);
  const RowsBody rest = only_body();
  EXPECT_TRUE(rest.want.empty()) << "the other's own row came along";
  ASSERT_EQ(rest.rows.size(), 1U);
  EXPECT_EQ(rest.rows[0].host, host('a'));
}

TEST_F(AuditTest, OfTwoLinksToOneHostTheSecondIsAskedAboutLater) {
  hold(rows_, host('a'), 1);
  audit_.link_up(now_, host('b'), rows_, messages_);
  EXPECT_TRUE(only_body().complete);
  audit_.link_up(now_, host('b'), rows_, messages_);
  EXPECT_TRUE(messages_.empty());
  EXPECT_EQ(audit_.next_deadline(), now_ + kMeetDelay);
  pass(kMeetDelay);
  EXPECT_EQ(only_body().audit, rows_.digest());
  pass(kMeetGap);
  EXPECT_TRUE(messages_.empty()) << "once";
}

TEST_F(AuditTest, OfManyLinksAtOnceMostAreAskedAboutOneAfterTheOther) {
  hold(rows_, host('a'), 1);
  for (char letter = 'c'; letter < 'i'; ++letter) {
    audit_.link_up(now_, host(letter), rows_, messages_);
  }
  EXPECT_EQ(messages_.size(), static_cast<std::size_t>(kComparesASecond));
  messages_.clear();
  pass(kMeetDelay);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(only_body().audit, rows_.digest());
    pass(kMeetGap);
  }
  EXPECT_TRUE(messages_.empty());
}

TEST_F(AuditTest, WhoIsSentARowThatDiffersSendsBackWhatItKnowsBetter) {
  hold(rows_, host('c'), 2);
  HeldRows theirs;
  hold(theirs, host('c'), 1);
  Audit other(host('b'), Rng(2));
  audit_.link_up(now_, host('b'), rows_, messages_);
  other.answer(now_, host('a'), only_body(), theirs, messages_);
  const RowsBody answer = only_body();
  EXPECT_TRUE(answer.compares);
  EXPECT_TRUE(answer.want.empty());
  ASSERT_EQ(answer.rows.size(), 1U);
  audit_.tell_better(host('b'), answer, rows_, messages_);
  const RowsBody back = only_body();
  EXPECT_FALSE(back.compares);
  ASSERT_EQ(back.rows.size(), 1U);
  EXPECT_EQ(back.rows[0].row, rows_.find(host('c'))->row);
  audit_.tell_better(host('b'), back, rows_, messages_);
  EXPECT_TRUE(messages_.empty()) << "the end of it";
}

TEST_F(AuditTest, ARowThatIsComparedManyTimesIsSentBackOnce) {
  hold(rows_, host('c'), 2);
  RowsBody answer;
  answer.compares = true;
  answer.rows.assign(kRowsPerMessageMax, {host('c'), Row()});
  audit_.tell_better(host('b'), answer, rows_, messages_);
  EXPECT_EQ(only_body().rows.size(), 1U);
}

TEST_F(AuditTest, ARowThatIsWantedManyTimesIsSentOnce) {
  hold(rows_, host('a'), 1);
  RowsBody question;
  question.want.assign(1000, host('a'));
  question.digests.assign(1000, {host('a'), 1});
  audit_.answer(now_, host('b'), question, rows_, messages_);
  EXPECT_EQ(only_body().rows.size(), 1U);
}

}  // namespace
}  // namespace muster::crdt
