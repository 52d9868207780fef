#include "scheduler/access/directory.h"

#include <string>

#include <gtest/gtest.h>

namespace muster::scheduler {
namespace {

Directory founded() {
  Directory directory;
  directory.found("root");
  return directory;
}

UserChange user(const std::string& name, std::optional<UserRole> role,
                std::vector<std::string> joins = {}, std::vector<std::string> leaves = {}) {
  return {name, false, role, std::move(joins), std::move(leaves)};
}

UserChange removal(const std::string& name) {
  return {.name = name, .is_removal = true};
}

TEST(Directory, ALoginWithoutARecordIsAUserUnlessTheRuleSaysOtherwise) {
  EXPECT_EQ(Directory().user("ann").role, UserRole::kNone);
  Directory directory = founded();
  EXPECT_EQ(directory.user("ann").role, UserRole::kUser);
  EXPECT_EQ(directory.user("ann").teams, std::vector<std::string>{"default"});
  EXPECT_EQ(directory.user("").role, UserRole::kNone);
  ASSERT_TRUE(directory.change({.teams = {}, .users = {}, .are_logins_users = false}));
  EXPECT_EQ(directory.user("ann").role, UserRole::kNone);
  EXPECT_EQ(directory.user("root").role, UserRole::kAdmin);
}

TEST(Directory, AChangeKeepsWhatItDoesNotName) {
  Directory directory = founded();
  ASSERT_TRUE(directory.change({.teams = {{"vision"}, {"speech", false, 7}},
                                .users = {user("ann", UserRole::kLead, {"vision", "speech"})}}));
  ASSERT_TRUE(directory.change({.teams = {}, .users = {user("ann", UserRole::kViewer)}}));
  EXPECT_EQ(directory.user("ann"), (User{UserRole::kViewer, {"vision", "speech"}}));
  ASSERT_TRUE(
      directory.change({.teams = {{"speech"}}, .users = {user("ann", {}, {}, {"vision"})}}));
  EXPECT_EQ(directory.user("ann"), (User{UserRole::kViewer, {"speech"}}));
  EXPECT_EQ(directory.team("speech").priority_max, 7);
  EXPECT_EQ(directory.version(), 4U);
}

TEST(Directory, ARemovedTeamLosesItsUsers) {
  Directory directory = founded();
  ASSERT_TRUE(directory.change({.teams = {{"vision"}}, .users = {user("ann", {}, {"vision"})}}));
  EXPECT_TRUE(directory.is_in_team("ann", "vision"));
  EXPECT_FALSE(directory.is_in_team("ann", "default"));
  ASSERT_TRUE(directory.change({.teams = {{"vision", true}}, .users = {}}));
  EXPECT_FALSE(directory.is_in_team("ann", "vision"));
  EXPECT_TRUE(directory.is_in_team("ann", "default"));
  EXPECT_FALSE(directory.has_team("vision"));
}

TEST(Directory, RefusesWhatCannotBe) {
  const Directory before = founded();
  const struct {
    DirectoryChange change;
    ErrorCode code;
    std::string_view part;
  } kRows[] = {
      {{{}, {removal("root")}}, ErrorCode::kConflict, "nobody would be an admin"},
      {{{}, {user("root", UserRole::kUser)}}, ErrorCode::kConflict, "nobody would be an admin"},
      {{{}, {removal("ann")}}, ErrorCode::kNotFound, "no user ann"},
      {{{}, {user("ann", {}, {"vision"})}}, ErrorCode::kNotFound, "no team vision"},
      {{{}, {user("ann", UserRole::kNone)}}, ErrorCode::kInvalid, "none is not a role"},
      {{{}, {user("", UserRole::kUser)}}, ErrorCode::kInvalid, "user"},
      {{{}, {user("a\nb", UserRole::kUser)}}, ErrorCode::kInvalid, "user"},
      {{{}, {user(std::string(300, 'a'), UserRole::kUser)}}, ErrorCode::kInvalid, "256"},
      {{{{"default", true}}, {}}, ErrorCode::kConflict, "default"},
      {{{{"vision", true}}, {}}, ErrorCode::kNotFound, "no team vision"},
      {{{{"a b"}}, {}}, ErrorCode::kInvalid, "team"},
      {{std::vector<TeamChange>(501, {"x"}), {}}, ErrorCode::kInvalid, "500"},
  };
  for (const auto& row : kRows) {
    Directory directory = before;
    const Status done = directory.change(row.change);
    ASSERT_FALSE(done) << row.part;
    EXPECT_EQ(done.error().code, row.code) << done.error().text;
    EXPECT_NE(done.error().text.find(row.part), std::string::npos) << done.error().text;
    EXPECT_EQ(directory, before) << "half of a change stayed";
  }
}

TEST(Directory, AnotherAdminMayReplaceTheFirst) {
  Directory directory = founded();
  ASSERT_TRUE(directory.change({{}, {user("carol", UserRole::kAdmin), removal("root")}}));
  EXPECT_EQ(directory.bearers(UserRole::kAdmin, 3), std::vector<std::string>{"carol"});
}

TEST(Directory, HasLimits) {
  Directory directory = founded();
  DirectoryChange many;
  for (std::size_t i = 0; i < kTeamsOfUserMax + 1; ++i) {
    many.teams.push_back({"t" + std::to_string(i)});
  }
  ASSERT_TRUE(directory.change(many));
  UserChange ann = user("ann", {});
  for (const TeamChange& team : many.teams) {
    ann.joins.push_back(team.name);
  }
  EXPECT_FALSE(directory.change({{}, {ann}}));
  ann.joins.pop_back();
  EXPECT_TRUE(directory.change({{}, {ann}}));
}

TEST(UserRole, TextsAndRolesAgree) {
  for (const UserRole role : {UserRole::kViewer, UserRole::kUser, UserRole::kLead,
                              UserRole::kOperator, UserRole::kAdmin}) {
    EXPECT_EQ(role_of(text_of(role)), role);
  }
  EXPECT_FALSE(role_of("none").has_value());
  EXPECT_FALSE(role_of("").has_value());
}

}  // namespace
}  // namespace muster::scheduler
