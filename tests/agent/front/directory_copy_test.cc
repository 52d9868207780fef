// Goal: a host without the log ends up with the list that the leader's row names, whole, whatever
// is lost or changes meanwhile, and has it again after a restart.

#include "agent/front/directory_copy.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include "agent/front/user_model.h"

namespace muster::agent {
namespace {

using namespace std::chrono_literals;

const HostId kVoter = HostId::from_bytes("voter___________");
const HostId kOther = HostId::from_bytes("other___________");
const Instant kStart = Instant(1h);

/// The list of the log, with so many users more than the first administrator.
scheduler::Directory list_of(std::size_t users) {
  scheduler::Directory directory;
  directory.found({"root"}, LogIndex(1));
  for (std::size_t i = 0; i < users; i += scheduler::kDirectoryChangesMax) {
    scheduler::DirectoryChange change;
    for (std::size_t k = i; k < std::min(users, i + scheduler::kDirectoryChangesMax); ++k) {
      change.users.push_back({"user" + std::to_string(100'000 + k)});
    }
    EXPECT_TRUE(directory.change(change, LogIndex(2)));
  }
  return directory;
}

/// Asks and answers until the copy is quiet, or `until`.
crdt::Records run(DirectoryCopy& copy, const scheduler::Directory& log, Instant until) {
  crdt::Records disk;
  for (int round = 0; round < 100 && copy.next_deadline() <= until; ++round) {
    const Instant now = copy.next_deadline();
    const auto ask = copy.tick(now, {kVoter});
    if (!ask.has_value()) {
      continue;
    }
    const auto writes = copy.on_page(now, ask->to, copy_page(log, ask->query, Duration(0)));
    for (const crdt::Write& write : writes.value_or(crdt::WriteBatch())) {
      disk[write.key] = write.value.value_or("");
    }
  }
  return disk;
}

TEST(DirectoryCopy, IsFetchedPageByPageAndKeptOnTheDisk) {
  const scheduler::Directory log = list_of(1'234);
  DirectoryCopy copy({}, Rng(1));
  EXPECT_FALSE(copy.directory().is_founded());
  EXPECT_EQ(copy.next_deadline(), kNever);
  copy.hear(kStart, log.version(), 100);
  EXPECT_LE(copy.next_deadline(), kStart + 100 * DirectoryCopy::kSpreadPerHost);
  const crdt::Records disk = run(copy, log, kStart + 1min);
  EXPECT_EQ(copy.directory(), log);
  EXPECT_EQ(copy.next_deadline(), kNever);
  EXPECT_TRUE(copy.age(kStart + 1min).has_value());
  const DirectoryCopy again(disk, Rng(2));
  EXPECT_EQ(again.directory(), log);
  EXPECT_EQ(again.age(kStart), std::nullopt) << "nobody confirmed it since the start";
}

TEST(DirectoryCopy, PagesOfTwoVersionsNeverMix) {
  scheduler::Directory log = list_of(1'000);
  DirectoryCopy copy({}, Rng(1));
  copy.hear(kStart, log.version(), 0);
  const auto first = copy.tick(kStart, {kVoter});
  ASSERT_TRUE(first.has_value());
  EXPECT_FALSE(copy.on_page(kStart, kVoter, user_list(log, first->query.after)).has_value());
  scheduler::DirectoryChange change;
  change.users.push_back({"user100001", true});
  ASSERT_TRUE(log.change(change, LogIndex(2)));
  copy.hear(kStart, log.version(), 0);
  run(copy, log, kStart + 1min);
  EXPECT_EQ(copy.directory(), log);
  EXPECT_FALSE(copy.directory().has_record("user100001"));
}

TEST(DirectoryCopy, AnswersOfOthersAndLateOnesDoNotCount) {
  const scheduler::Directory log = list_of(1);
  DirectoryCopy copy({}, Rng(1));
  EXPECT_FALSE(copy.on_page(kStart, kVoter, user_list(log, "")).has_value()) << "not asked for";
  copy.hear(kStart, log.version(), 0);
  ASSERT_TRUE(copy.tick(kStart, {kVoter}).has_value());
  EXPECT_FALSE(copy.on_page(kStart, kOther, user_list(log, "")).has_value());
  EXPECT_FALSE(copy.directory().is_founded());
  EXPECT_EQ(copy.next_deadline(), kStart + DirectoryCopy::kPatience) << "then another is asked";
  UserList strange = user_list(log, "");
  strange.users.push_back({"eve", "emperor", {}});
  EXPECT_FALSE(copy.on_page(kStart, kVoter, strange).has_value());
  EXPECT_FALSE(copy.directory().is_founded());
}

TEST(DirectoryCopy, AListWithoutEndIsGivenUp) {
  DirectoryCopy copy({}, Rng(1));
  copy.hear(kStart, 9, 0);
  Instant now = kStart;
  std::size_t asked = 0;
  for (; now < kStart + DirectoryCopy::kPatience; ++asked) {
    now = copy.next_deadline();
    const auto ask = copy.tick(now, {kVoter});
    ASSERT_TRUE(ask.has_value());
    UserList page;
    page.version = 9;
    page.users.assign(kUsersPage, {"user", "user", {}});
    page.next = "user";
    EXPECT_FALSE(copy.on_page(now, kVoter, page).has_value());
  }
  EXPECT_LE(asked, scheduler::kUsersMax / kUsersPage + 2);
  EXPECT_FALSE(copy.directory().is_founded());
}

TEST(DirectoryCopy, ARecoveredQuorumMayHaveAnOlderList) {
  const scheduler::Directory before = list_of(1'000);
  DirectoryCopy copy({}, Rng(1));
  copy.hear(kStart, before.version(), 0);
  run(copy, before, kStart + 1min);
  const scheduler::Directory after = list_of(2);
  ASSERT_LT(after.version(), before.version());
  copy.hear(kStart + 1min, after.version(), 0);
  run(copy, after, kStart + 2min);
  EXPECT_EQ(copy.directory(), after);
}

scheduler::AccessTokenId token_of(std::size_t number) {
  return scheduler::AccessTokenId::from_bytes("token" + std::to_string(10'000'000'000 + number));
}

TEST(DirectoryCopy, BringsTokensWithTheTimeThatEndsThem) {
  scheduler::Directory log = list_of(3);
  for (std::size_t i = 0; i < kTokensPage + 7; ++i) {
    const std::string user = "user" + std::to_string(i / scheduler::kTokensOfUserMax);
    ASSERT_TRUE(log.make_token(token_of(i), {"hash", user, "ci", {true, false}, "", 2h}, 1h));
  }
  DirectoryCopy copy({}, Rng(1));
  copy.hear(kStart, log.version(), 0);
  const crdt::Records disk = run(copy, log, kStart + 1min);
  EXPECT_EQ(copy.directory(), log);
  const scheduler::TokenRecord* token = copy.directory().tokens().find(token_of(0));
  ASSERT_NE(token, nullptr);
  EXPECT_TRUE(token->has_ended(copy.cluster_time(kStart + 2h + 1min)));
  EXPECT_FALSE(token->has_ended(copy.cluster_time(kStart + 2h - 1min)));

  DirectoryCopy again(disk, Rng(2));
  EXPECT_TRUE(again.directory().tokens().all().empty()) << "nobody knows how long it was away";
  EXPECT_EQ(again.directory().users(), log.users());
  again.hear(kStart + 3h, log.version(), 0);
  run(again, log, kStart + 4h);
  EXPECT_EQ(again.directory(), log);
}

RC_GTEST_PROP(DirectoryCopy, EndsAtTheLastVersionWhateverIsLost, ()) {
  scheduler::Directory log = list_of(600);
  DirectoryCopy copy({}, Rng(*rc::gen::arbitrary<std::uint64_t>()));
  Instant now = kStart;
  copy.hear(now, log.version(), 10);
  for (int step = 0; step < 60; ++step) {
    now += std::chrono::milliseconds(*rc::gen::inRange(1, 900));
    if (copy.next_deadline() <= now) {
      const auto ask = copy.tick(now, {kVoter, kOther});
      if (ask.has_value() && *rc::gen::arbitrary<bool>()) {
        copy.on_page(now, ask->to, copy_page(log, ask->query, Duration(0)));
      }
    }
    if (*rc::gen::inRange(0, 10) == 0) {
      scheduler::DirectoryChange change;
      change.users.push_back({"new" + std::to_string(step)});
      RC_ASSERT(static_cast<bool>(log.change(change, LogIndex(2))));
      copy.hear(now, log.version(), 10);
    }
  }
  copy.hear(now, log.version(), 10);
  run(copy, log, now + 10min);
  RC_ASSERT(copy.directory() == log);
}

}  // namespace
}  // namespace muster::agent
