// The audit: its limits, the line of every entry that a person can order, and snapshots.

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "scheduler/state/audit_book.h"
#include "scheduler/state/state.h"
#include "tests/scheduler/state/cluster.h"

namespace muster::scheduler {
namespace {

using testing::host_id;

AuditLine line_of(const std::string& object) {
  AuditLine line;
  line.by = "ann@n1";
  line.user = "ann";
  line.verb = "cancel";
  line.object = object;
  return line;
}

TEST(AuditBook, KeepsTheNewestLinesAndNeverReusesANumber) {
  AuditBook book;
  for (std::size_t i = 0; i < kAuditLinesMax + 10; ++i) {
    book.add(line_of("job " + std::to_string(i)));
  }
  book.check();
  EXPECT_EQ(book.lines().size(), kAuditLinesMax);
  EXPECT_EQ(book.last(), kAuditLinesMax + 10);
  EXPECT_EQ(book.lines().front().number, 11U);
  EXPECT_EQ(book.lines().front().object, "job 10");
  EXPECT_LE(book.bytes(), kAuditBytesMax) << "lines of short names all fit";
}

TEST(AuditBook, LongLinesAreBoundedByTheirBytesAndTheirTextsAreCut) {
  AuditBook book;
  AuditLine longest = line_of(std::string(5000, 'o'));
  longest.by = std::string(5000, 'b');
  longest.user = std::string(5000, 'u');
  longest.why = std::string(5000, 'w');
  constexpr std::size_t kLines = 20'000;
  for (std::size_t i = 0; i < kLines; ++i) {
    book.add(longest);
  }
  book.check();
  EXPECT_EQ(book.last(), kLines);
  EXPECT_EQ(book.lines().back().why.size(), kAuditTextBytesMax);
  EXPECT_LE(book.bytes(), kAuditBytesMax);
  EXPECT_LT(book.lines().size(), kLines);
  EXPECT_GT(book.lines().size(), 10'000U);
}

TEST(AuditBook, GivesTheLinesBehindANumber) {
  AuditBook book;
  EXPECT_EQ(book.after(0), book.lines().end());
  for (std::size_t i = 0; i < kAuditLinesMax + 5; ++i) {
    book.add(line_of(""));
  }
  EXPECT_EQ(book.after(0)->number, 6U) << "older lines are not kept";
  EXPECT_EQ(book.after(6)->number, 7U);
  EXPECT_EQ(book.after(book.last() - 1)->number, book.last());
  EXPECT_EQ(book.after(book.last()), book.lines().end());
  EXPECT_EQ(book.after(UINT64_MAX), book.lines().end());
}

TEST(AuditBook, ABatchCountsOnce) {
  AuditBook book;
  EXPECT_TRUE(book.take_batch(host_id(1), {3, 1}));
  EXPECT_FALSE(book.take_batch(host_id(1), {3, 1}));
  EXPECT_TRUE(book.take_batch(host_id(1), {3, 2}));
  EXPECT_FALSE(book.take_batch(host_id(1), {3, 1})) << "it was delayed";
  EXPECT_FALSE(book.take_batch(host_id(1), {2, 9})) << "an earlier life of the agent";
  EXPECT_TRUE(book.take_batch(host_id(1), {4, 1}));
  EXPECT_TRUE(book.take_batch(host_id(2), {1, 1}));
}

/// A log with one administrator, a user and a job of hers.
class Audited {
 public:
  Audited() {
    apply(testing::registration(1, 4));
    apply(entry::FoundDirectory{"root"});
    entry::Submit submit = testing::submission("one", 1);
    submit.spec.user = "ann";
    submit.by = person("ann");
    apply(submit);
  }

  static Subject person(const std::string& user) { return {user + "@n1", user, host_id(1)}; }
  void apply(Entry entry) {
    index_ = index_.next();
    state.apply(index_, std::move(entry), 1000 + static_cast<std::int64_t>(index_.value()));
  }
  /// "USER VERB OBJECT OUTCOME WHY" of the newest line.
  std::string newest() const {
    const AuditLine& line = state.audit().lines().back();
    return line.user + " " + line.verb + " " + line.object + " " +
           std::string(text_of(line.outcome)) + (line.why.empty() ? "" : " " + line.why);
  }

  State state;

 private:
  LogIndex index_;
};

TEST(Audit, ALineNamesThePersonTheHostTheProofTheEntryAndItsTime) {
  Audited log;
  ASSERT_EQ(log.state.audit().lines().size(), 1U);
  const AuditLine& line = log.state.audit().lines().back();
  EXPECT_EQ(line.number, 1U);
  EXPECT_EQ(line.by, "ann@n1");
  EXPECT_EQ(line.host, host_id(1));
  EXPECT_EQ(line.told_by, HostId());
  EXPECT_EQ(text_of(line.proof), "host");
  EXPECT_EQ(line.index, LogIndex(3));
  EXPECT_EQ(line.unix_ms, 1003);
  EXPECT_EQ(log.newest(), "ann submit job 1 done");
}

TEST(Audit, EveryEntryOfAPersonLeavesOneLineWhateverBecomesOfIt) {
  struct Row {
    Entry entry;
    const char* line;
  };
  const Subject ann = Audited::person("ann");
  const Subject root = Audited::person("root");
  entry::Submit again = testing::submission("one", 1);
  again.spec.user = "ann";
  again.by = ann;
  entry::Submit of_another = again;
  of_another.by = root;
  entry::Enrol revoked;
  revoked.host = host_id(9);
  revoked.authority = 1;
  revoked.edition = 1;
  revoked.record = "r";
  revoked.is_revoked = true;
  revoked.by = root;
  entry::Enrol changed = revoked;
  changed.is_revoked = false;
  changed.edition = 2;
  DirectoryChange two;
  two.users = {{"bob"}, {"eve"}};
  two.hides_other_teams = true;
  const Row rows[] = {
      {again, "ann submit job 1 done repeated"},
      {of_another, "root submit  denied denied"},
      {entry::Suspend{JobId(1), ann}, "ann suspend job 1 done"},
      {entry::Suspend{JobId(7), ann}, "ann suspend job 7 refused not_found"},
      {entry::Resume{JobId(1), ann}, "ann resume job 1 done"},
      {entry::Edit{JobId(1), 5, ann}, "ann edit job 1 done"},
      {entry::Edit{JobId(1), 500, ann}, "ann edit job 1 denied denied"},
      {entry::Requeue{JobId(1), 0, Audited::person("eve")}, "eve requeue job 1 denied denied"},
      {entry::Cancel{task_id(JobId(4), 2), ann, 9}, "ann cancel job 4.2-9 refused not_found"},
      {entry::Cancel{JobId(1), ann}, "ann cancel job 1 done"},
      {entry::Drain{host_id(1), ann, "why", false, {}}, "ann drain host host1 denied denied"},
      {entry::Drain{host_id(1), root, "why", false, {}}, "root drain host host1 done"},
      {entry::Undrain{host_id(1), root}, "root undrain host host1 done"},
      {entry::GpuOrder{host_id(1), uuid_of(1, 1), true, "fan", ann},
       "ann mask_gpu host host1 gpu GPU-1-1 denied denied"},
      {entry::GpuOrder{host_id(1), uuid_of(1, 1), true, "fan", root},
       "root mask_gpu host host1 gpu GPU-1-1 done"},
      {entry::GpuOrder{host_id(1), "GPU-x", false, "well", root},
       "root unmask_gpu host host1 gpu GPU-x refused not_found"},
      {entry::Fence{host_id(1), root}, "root fence host host1 refused conflict"},
      {entry::RemoveHost{host_id(8), root}, "root remove_host host 00000000 refused not_found"},
      {entry::MakeTicket{std::string(32, '\x1f'), 1, std::chrono::hours(1), false, false, "", root,
                         host_id(1)},
       "root make_ticket ticket 1f1f1f1f1f1f done"},
      {entry::EndTicket{std::string(32, '\x1f'), ann},
       "ann end_ticket ticket 1f1f1f1f1f1f denied denied"},
      {entry::EndTicket{std::string(32, '\x1f'), root}, "root end_ticket ticket 1f1f1f1f1f1f done"},
      {revoked, "root revoke_host host 00000000 done"},
      {changed, "root change_host host 00000000 done"},
      {entry::RotateKeys{1, root}, "root rotate_keys all hosts done"},
      {entry::ChangeDirectory{two, root}, "root change_users 2 users, rules done"},
      {entry::ChangeDirectory{{{{"red"}}, {{"bob"}}}, ann},
       "ann change_users user bob, team red denied denied"},
      {entry::ResetAdmin{"bob", {}, root}, "root reset_admin user bob denied denied"},
  };
  Audited log;
  for (const Row& row : rows) {
    const std::uint64_t before = log.state.audit().last();
    log.apply(row.entry);
    EXPECT_EQ(log.newest(), row.line);
    EXPECT_EQ(log.state.audit().last(), before + 1) << row.line;
  }
  log.state.check_everything();
}

TEST(Audit, WhatALeaderDoesByItselfLeavesNoLine) {
  Audited log;
  const std::uint64_t before = log.state.audit().last();
  log.apply(entry::Tick{std::chrono::seconds(1)});
  log.apply(entry::Requeue{JobId(1), 0, {"drain"}});
  log.apply(testing::registration(2, 4));
  log.apply(entry::Enrol{host_id(2), 1, 1, "record", "", "", "host2", false, {}, true});
  EXPECT_EQ(log.state.audit().last(), before);
}

entry::NoteRequests batch_of(std::uint64_t number, std::uint64_t generation = 1) {
  entry::NoteRequests batch;
  batch.host = host_id(5);
  batch.generation = generation;
  batch.batch = number;
  batch.notes = {{Audited::person("ann"), "drain", "host n2", false, "only operators"},
                 {Audited::person("root"), "output", "job 1", true, "output of user ann"},
                 {{}, "", "", false, "7 more requests"}};
  return batch;
}

TEST(Audit, ABatchOfRefusalsLeavesItsLinesOnce) {
  Audited log;
  log.apply(batch_of(1));
  ASSERT_EQ(log.state.audit().lines().size(), 4U);
  const AuditLine& line = log.state.audit().lines()[1];
  EXPECT_EQ(line.told_by, host_id(5));
  EXPECT_EQ(line.host, host_id(1));
  EXPECT_EQ(line.user + " " + line.verb + " " + line.object, "ann drain host n2");
  EXPECT_EQ(line.outcome, AuditOutcome::kDenied);
  EXPECT_EQ(line.why, "only operators");
  EXPECT_EQ(log.state.audit().lines()[2].outcome, AuditOutcome::kDone);
  log.apply(batch_of(1));
  EXPECT_EQ(log.state.audit().last(), 4U) << "the leader heard it twice";
  log.apply(batch_of(2));
  log.apply(batch_of(1));
  EXPECT_EQ(log.state.audit().last(), 7U);
  log.apply(batch_of(1, 2));
  EXPECT_EQ(log.state.audit().last(), 10U) << "another life of the agent counts from 1";
}

TEST(Audit, ASnapshotHasIt) {
  Audited log;
  log.apply(batch_of(1));
  for (int i = 0; i < 50; ++i) {
    log.apply(entry::Suspend{JobId(static_cast<std::uint64_t>(1 + i % 3)), Audited::person("ann")});
  }
  const std::string bytes = log.state.encode();
  const Result<State> copy = State::decode(bytes);
  ASSERT_TRUE(copy.has_value()) << copy.error().text;
  EXPECT_EQ(copy->audit().lines(), log.state.audit().lines());
  EXPECT_EQ(copy->audit().last(), 54U);
  EXPECT_EQ(copy->audit().batches(), log.state.audit().batches());
  EXPECT_EQ(copy->audit().bytes(), log.state.audit().bytes());
  EXPECT_EQ(copy->encode(), bytes);
  EXPECT_EQ(copy->digest(), log.state.digest());
}

TEST(Audit, ItIsPartOfTheDigest) {
  Audited log;
  Audited other;
  log.apply(entry::Suspend{JobId(9), Audited::person("ann")});
  other.apply(entry::Suspend{JobId(9), Audited::person("eve")});
  EXPECT_NE(log.state.digest(), other.state.digest());
}

}  // namespace
}  // namespace muster::scheduler
