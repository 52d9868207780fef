// Goal: the list of users comes in pages that lack no user, and says how many users a team has.

#include "agent/front/user_model.h"

#include <gtest/gtest.h>

namespace muster::agent {
namespace {

scheduler::Directory directory_of(std::size_t users) {
  scheduler::Directory directory;
  directory.found({"root"}, LogIndex(1));
  scheduler::DirectoryChange change;
  change.teams.push_back({"nlp", false, 500});
  EXPECT_TRUE(directory.change(change, LogIndex(2)));
  for (std::size_t i = 0; i < users; ++i) {
    scheduler::DirectoryChange add;
    add.users.push_back({"user" + std::to_string(10'000 + i), false, {}, {"nlp"}});
    EXPECT_TRUE(directory.change(add, LogIndex(2)));
  }
  return directory;
}

TEST(UserModel, PagesHaveEachUserOnce) {
  const scheduler::Directory directory = directory_of(kUsersPage + 1);
  const UserList first = user_list(directory, "");
  EXPECT_EQ(first.users.size(), kUsersPage);
  EXPECT_EQ(first.next, first.users.back().name);
  const UserList second = user_list(directory, first.next);
  EXPECT_EQ(second.users.size(), 2U) << "with root, the first administrator";
  EXPECT_EQ(second.next, "");
  EXPECT_EQ(second.users.front().name, "user" + std::to_string(10'000 + kUsersPage - 1));
}

TEST(UserModel, CountsTheUsersOfEachTeam) {
  const UserList list = user_list(directory_of(3), "");
  ASSERT_EQ(list.teams.size(), 2U);
  EXPECT_EQ(list.teams[0], (TeamInfo{"default", scheduler::kPriorityMaxDefault, 1}));
  EXPECT_EQ(list.teams[1], (TeamInfo{"nlp", 500, 3}));
}

TEST(UserModel, ALoginWithoutARecordIsDescribedByTheRules) {
  scheduler::Directory directory = directory_of(0);
  WhoamiInfo info;
  info.user = "bob";
  describe_user(directory, info);
  EXPECT_FALSE(info.has_record);
  EXPECT_EQ(info.role, "user");
  scheduler::DirectoryChange change;
  change.are_logins_users = false;
  ASSERT_TRUE(directory.change(change, LogIndex(2)));
  describe_user(directory, info);
  EXPECT_EQ(info.role, "none");
}

}  // namespace
}  // namespace muster::agent
