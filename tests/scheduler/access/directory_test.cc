#include "scheduler/access/directory.h"

#include <string>

#include <gtest/gtest.h>

namespace muster::scheduler {
namespace {

Directory founded() {
  Directory directory;
  directory.found({"root"}, LogIndex(1));
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
  ASSERT_TRUE(directory.change({.teams = {}, .users = {}, .are_logins_users = false}, LogIndex(2)));
  EXPECT_EQ(directory.user("ann").role, UserRole::kNone);
  EXPECT_EQ(directory.user("root").role, UserRole::kAdmin);
}

TEST(Directory, AChangeKeepsWhatItDoesNotName) {
  Directory directory = founded();
  ASSERT_TRUE(directory.change({.teams = {{"vision"}, {"speech", false, 7}},
                                .users = {user("ann", UserRole::kLead, {"vision", "speech"})}},
                               LogIndex(2)));
  ASSERT_TRUE(
      directory.change({.teams = {}, .users = {user("ann", UserRole::kViewer)}}, LogIndex(2)));
  EXPECT_EQ(directory.user("ann"), (User{UserRole::kViewer, {"vision", "speech"}}));
  ASSERT_TRUE(directory.change({.teams = {{"speech"}}, .users = {user("ann", {}, {}, {"vision"})}},
                               LogIndex(2)));
  EXPECT_EQ(directory.user("ann"), (User{UserRole::kViewer, {"speech"}}));
  EXPECT_EQ(directory.team("speech").priority_max, 7);
  EXPECT_EQ(directory.version(), 4U);
}

TEST(Directory, ARemovedTeamLosesItsUsers) {
  Directory directory = founded();
  ASSERT_TRUE(directory.change({.teams = {{"vision"}}, .users = {user("ann", {}, {"vision"})}},
                               LogIndex(2)));
  EXPECT_TRUE(directory.is_in_team("ann", "vision"));
  EXPECT_FALSE(directory.is_in_team("ann", "default"));
  ASSERT_TRUE(directory.change({.teams = {{"vision", true}}, .users = {}}, LogIndex(2)));
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
    const Status done = directory.change(row.change, LogIndex(2));
    ASSERT_FALSE(done) << row.part;
    EXPECT_EQ(done.error().code, row.code) << done.error().text;
    EXPECT_NE(done.error().text.find(row.part), std::string::npos) << done.error().text;
    EXPECT_EQ(directory, before) << "half of a change stayed";
  }
}

TEST(Directory, EachTeamNamesItsFirstLead) {
  Directory directory = founded();
  ASSERT_TRUE(directory.change({{{"vision"}, {"speech"}},
                                {user("zoe", UserRole::kLead, {"vision"}),
                                 user("ann", UserRole::kLead, {"vision", "speech"}),
                                 user("ben", UserRole::kUser, {"speech"})}},
                               LogIndex(2)));
  EXPECT_EQ(directory.lead_of("vision"), "ann");
  EXPECT_EQ(directory.lead_of(kDefaultTeam), "");
  ASSERT_TRUE(directory.change({{}, {removal("ann")}}, LogIndex(3)));
  EXPECT_EQ(directory.lead_of("vision"), "zoe");
  EXPECT_EQ(directory.lead_of("speech"), "");
}

TEST(Directory, AnotherAdminMayReplaceTheFirst) {
  Directory directory = founded();
  ASSERT_TRUE(
      directory.change({{}, {user("carol", UserRole::kAdmin), removal("root")}}, LogIndex(2)));
  EXPECT_EQ(directory.bearers(UserRole::kAdmin, 3), std::vector<std::string>{"carol"});
  EXPECT_EQ(directory.bearers(UserRole::kAdmin, 0), std::vector<std::string>());
}

TEST(Directory, HasLimits) {
  Directory directory = founded();
  DirectoryChange many;
  for (std::size_t i = 0; i < kTeamsOfUserMax + 1; ++i) {
    many.teams.push_back({"t" + std::to_string(i)});
  }
  ASSERT_TRUE(directory.change(many, LogIndex(2)));
  UserChange ann = user("ann", {});
  for (const TeamChange& team : many.teams) {
    ann.joins.push_back(team.name);
  }
  EXPECT_FALSE(directory.change({{}, {ann}}, LogIndex(2)));
  ann.joins.pop_back();
  EXPECT_TRUE(directory.change({{}, {ann}}, LogIndex(2)));
}

TEST(UserRole, TextsAndRolesAgree) {
  for (const UserRole role : {UserRole::kViewer, UserRole::kUser, UserRole::kLead,
                              UserRole::kOperator, UserRole::kAdmin}) {
    EXPECT_EQ(role_of(text_of(role)), role);
  }
  EXPECT_FALSE(role_of("none").has_value());
  EXPECT_FALSE(role_of("").has_value());
}

gossip::SshKeyLine line_of(char letter, const std::string& comment) {
  return {{gossip::SshKeyType::kEd25519, std::string(gossip::kSshPointBytes, letter), ""}, comment};
}

DirectoryChange keys_of(const std::string& name, std::vector<gossip::SshKeyLine> added,
                        std::vector<gossip::SshKey> removed = {}) {
  UserChange change{name};
  change.keys_added = std::move(added);
  change.keys_removed = std::move(removed);
  return {{}, {change}};
}

TEST(Directory, AKeyBeginsAtTheIndexOfItsEntryAndGoesOn) {
  Directory directory = founded();
  const gossip::SshKeyLine key = line_of('a', "home");
  ASSERT_TRUE(directory.change(keys_of("ann", {key}), LogIndex(20)));
  directory.count_order("ann", key.key);
  ASSERT_TRUE(directory.change(keys_of("ann", {line_of('a', "work")}), LogIndex(30)));
  ASSERT_NE(directory.key("ann", key.key), nullptr);
  EXPECT_EQ(*directory.key("ann", key.key), (UserKey{line_of('a', "work"), 21}));
  ASSERT_TRUE(directory.change(keys_of("ann", {key}, {key.key}), LogIndex(40)));
  EXPECT_EQ(directory.key("ann", key.key)->next, 40U);
  EXPECT_EQ(directory.key("bob", key.key), nullptr);
}

TEST(Directory, AUserHasAFewKeysAndLosesNoneThatIsNotThere) {
  Directory directory = founded();
  std::vector<gossip::SshKeyLine> many;
  for (std::size_t i = 0; i <= kKeysOfUserMax; ++i) {
    many.push_back(line_of(static_cast<char>('a' + i), ""));
  }
  EXPECT_EQ(directory.change(keys_of("ann", many), LogIndex(2)).error().code, ErrorCode::kConflict);
  EXPECT_FALSE(directory.has_record("ann"));
  many.pop_back();
  EXPECT_TRUE(directory.change(keys_of("ann", many), LogIndex(2)));
  const Status absent = directory.change(keys_of("ann", {}, {line_of('z', "").key}), LogIndex(3));
  EXPECT_EQ(absent.error().code, ErrorCode::kNotFound);
}

TEST(Directory, OrdersNeedSignaturesOnceAnAdministratorHasAKey) {
  Directory directory = founded();
  const gossip::SshKeyLine key = line_of('a', "");
  ASSERT_TRUE(directory.change(keys_of("ann", {key}), LogIndex(2)));
  EXPECT_FALSE(directory.needs_signatures());
  ASSERT_TRUE(directory.change({{}, {user("ann", UserRole::kAdmin)}}, LogIndex(3)));
  EXPECT_TRUE(directory.needs_signatures());
  for (const DirectoryChange& change :
       {keys_of("ann", {}, {key.key}), DirectoryChange{{}, {removal("ann")}},
        DirectoryChange{{}, {user("ann", UserRole::kUser)}}}) {
    EXPECT_EQ(directory.change(change, LogIndex(4)).error().code, ErrorCode::kConflict);
  }
  EXPECT_TRUE(directory.change(keys_of("root", {key}), LogIndex(4)));
  EXPECT_TRUE(directory.change({{}, {removal("ann")}}, LogIndex(5)));
  EXPECT_TRUE(directory.needs_signatures());
}

TEST(Directory, AResetLeavesOneAdministratorWithAKeyAndNoTokenOfAny) {
  Directory directory = founded();
  ASSERT_TRUE(directory.change(keys_of("root", {line_of('r', "")}), LogIndex(2)));
  ASSERT_TRUE(directory.change(keys_of("eve", {line_of('e', "")}), LogIndex(3)));
  ASSERT_TRUE(directory.change(keys_of("bob", {line_of('b', "")}), LogIndex(4)));
  for (const char* name : {"root", "bob", "eve"}) {
    const AccessTokenId id = AccessTokenId::from_bytes("token of " + std::string(name, 3) + "....");
    ASSERT_TRUE(directory.make_token(id, {"hash", name, "ci", {true, false}, "", Duration(9)}, {}));
  }
  const std::uint64_t version = directory.version();
  const AdminReset reset{1, LogIndex(50), "bob", "root@n"};
  ASSERT_TRUE(directory.reset_admin(line_of('n', "new"), reset));
  EXPECT_EQ(directory.user("bob").role, UserRole::kAdmin);
  EXPECT_EQ(directory.user("bob").keys, (std::vector<UserKey>{{line_of('n', "new"), 50}}));
  EXPECT_EQ(directory.user("root").role, UserRole::kAdmin) << "it may do what needs no signature";
  EXPECT_TRUE(directory.user("root").keys.empty());
  EXPECT_EQ(directory.user("eve").keys.size(), 1U) << "eve is no administrator";
  ASSERT_EQ(directory.tokens().all().size(), 1U);
  EXPECT_EQ(directory.tokens().all().begin()->second.user, "eve");
  EXPECT_EQ(directory.last_reset(), reset);
  EXPECT_EQ(directory.version(), version + 1) << "hosts without the log fetch it";
  EXPECT_TRUE(directory.needs_signatures());
}

TEST(Directory, AResetTakesANewKeyAndAKnownUserWhereThereAreTooMany) {
  Directory directory = founded();
  ASSERT_TRUE(directory.change(keys_of("root", {line_of('r', "")}), LogIndex(2)));
  const Directory before = directory;
  EXPECT_EQ(
      directory.reset_admin(line_of('r', "again"), {1, LogIndex(3), "eve", "root@n"}).error().code,
      ErrorCode::kConflict);
  EXPECT_EQ(directory, before);
  Directory::Users many{{"root", {UserRole::kAdmin, {}}}};
  for (std::size_t i = 1; i < kUsersMax; ++i) {
    many["user" + std::to_string(i)] = {};
  }
  Directory full(1, std::move(many), {}, {});
  EXPECT_EQ(full.reset_admin(line_of('n', ""), {1, LogIndex(3), "eve", "root@n"}).error().code,
            ErrorCode::kConflict);
  EXPECT_TRUE(full.reset_admin(line_of('n', ""), {1, LogIndex(3), "user7", "root@n"}));
}

TEST(AdminReset, IsAfterOneOfAnEarlierEpochOrEntry) {
  const AdminReset reset{2, LogIndex(50)};
  EXPECT_TRUE(reset.is_after({}));
  EXPECT_TRUE(reset.is_after({1, LogIndex(90)})) << "a recovered log goes on at a lower index";
  EXPECT_TRUE(reset.is_after({2, LogIndex(49)}));
  EXPECT_FALSE(reset.is_after(reset));
  EXPECT_FALSE(reset.is_after({3, LogIndex(1)}));
}

}  // namespace
}  // namespace muster::scheduler
