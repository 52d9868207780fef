// Goal: applying a file makes the list agree with it, in orders within their limits, and a second
// time changes no user. A file that cannot be meant is refused with its line.

#include "cli/kit/users_file.h"

#include <gtest/gtest.h>

#include "agent/front/user_model.h"
#include "cli/edge/users_toml.h"
#include "scheduler/access/directory.h"

namespace muster::cli {
namespace {

using scheduler::UserRole;

constexpr char kFile[] = R"(
[access]
unix-users = "none"
jobs = "team"
[team.nlp]
priority-max = 500
[team.vision]
[user.anna]
role = "lead"
teams = ["vision", "nlp"]
[user.bob]
[user."dr who"]
role = "viewer"
)";

UsersFile parsed(std::string_view text) {
  auto file = parse_users_file(text, "f.toml");
  EXPECT_TRUE(file) << (file ? "" : file.error().text);
  return file ? *file : UsersFile();
}

scheduler::Directory founded() {
  scheduler::Directory directory;
  directory.found({"root"}, LogIndex(1));
  return directory;
}

agent::UserList apply(const UsersFile& file, scheduler::Directory& directory, bool prune) {
  for (const auto& part : parts_of(change_for(file, agent::user_list(directory, ""), prune))) {
    const Status done = directory.change(part, LogIndex(2));
    EXPECT_TRUE(done) << (done ? "" : done.error().text);
  }
  return agent::user_list(directory, "");
}

TEST(UsersFile, MakesTheListAgreeAndIsIdempotent) {
  scheduler::Directory directory = founded();
  const UsersFile file = parsed(kFile);
  const agent::UserList now = apply(file, directory, false);
  EXPECT_EQ(directory.user("anna").role, UserRole::kLead);
  EXPECT_EQ(directory.user("anna").teams, (std::vector<std::string>{"vision", "nlp"}));
  EXPECT_EQ(directory.user("bob").role, UserRole::kUser);
  EXPECT_EQ(directory.user("dr who").role, UserRole::kViewer);
  EXPECT_EQ(directory.user("root").role, UserRole::kAdmin) << "the file does not name it";
  EXPECT_EQ(directory.team("nlp").priority_max, 500);
  EXPECT_FALSE(directory.rules().are_logins_users);
  EXPECT_TRUE(directory.rules().hides_other_teams);
  EXPECT_TRUE(lines_of(change_for(file, now, false)).empty());
}

TEST(UsersFile, TheFirstTeamFollowsTheFile) {
  scheduler::Directory directory = founded();
  apply(parsed(kFile), directory, false);
  UsersFile other = parsed(kFile);
  other.users["anna"].teams = std::vector<std::string>{"nlp", "vision"};
  apply(other, directory, false);
  EXPECT_EQ(directory.user("anna").teams, (std::vector<std::string>{"nlp", "vision"}));
  other.users["anna"].teams = std::vector<std::string>{"nlp"};
  apply(other, directory, false);
  EXPECT_EQ(directory.user("anna").teams, (std::vector<std::string>{"nlp"}));
}

TEST(UsersFile, PruningRemovesTheOthersButNeverTheLastAdministrator) {
  scheduler::Directory directory = founded();
  apply(parsed(kFile), directory, false);
  UsersFile file = parsed("[user.eve]\nrole = \"admin\"\n");
  apply(file, directory, true);
  const agent::UserList now = agent::user_list(directory, "");
  ASSERT_EQ(now.users.size(), 1U);
  EXPECT_EQ(now.users[0].name, "eve");
  EXPECT_EQ(now.teams.size(), 1U) << "default";
  const auto change = change_for(UsersFile(), now, true);
  EXPECT_FALSE(directory.change(change, LogIndex(2)));
}

TEST(UsersFile, ALongFileIsManyOrders) {
  UsersFile file;
  for (std::size_t i = 0; i < 1'200; ++i) {
    file.users["u" + std::to_string(i)] = {};
  }
  scheduler::Directory directory = founded();
  const auto parts = parts_of(change_for(file, agent::user_list(directory, ""), false));
  ASSERT_EQ(parts.size(), 3U);
  for (const auto& part : parts) {
    EXPECT_TRUE(directory.change(part, LogIndex(2)));
  }
  EXPECT_EQ(directory.users().size(), 1'201U);
}

TEST(UsersFile, AUserHasTheKeysOfTheFileAndNoOthers) {
  const auto line = [](char letter) {
    return gossip::to_line({{gossip::SshKeyType::kEd25519, std::string(32, letter), ""}, "home"});
  };
  scheduler::Directory directory = founded();
  const auto keys = [&] { return directory.user("anna").keys.size(); };
  apply(parsed("[user.anna]\nkeys = [\"" + line('a') + "\", \"" + line('b') + "\"]\n"), directory,
        false);
  EXPECT_EQ(keys(), 2U);
  const UsersFile other = parsed("[user.anna]\nkeys = [\"" + line('b') + "\"]\n");
  const auto change = change_for(other, agent::user_list(directory, ""), false);
  EXPECT_EQ(lines_of(change), std::vector<std::string>{"user anna: loses a key"});
  const agent::UserList now = apply(other, directory, false);
  ASSERT_EQ(keys(), 1U);
  EXPECT_EQ(now.users.at(0).keys.at(0).line, line('b'));
  EXPECT_TRUE(change_for(other, now, false).users.empty());
  apply(parsed("[user.anna]\nrole = \"lead\"\n"), directory, false);
  EXPECT_EQ(keys(), 1U) << "the file does not name them";
}

TEST(UsersFile, IsRefusedWithTheLineThatIsWrong) {
  const std::pair<const char*, const char*> cases[] = {
      {"[user.anna]\nrol = \"lead\"\n",
       "f.toml:2: unknown key 'rol' of a user; the keys are: role, teams, keys"},
      {"[user.anna]\nrole = \"boss\"\n",
       "f.toml:2: 'role' must be viewer, user, lead, operator or admin"},
      {"[user]\nanna = 7\n", "f.toml:2: 'anna' must be a table"},
      {"[user.anna]\nteams = \"nlp\"\n", "f.toml:2: 'teams' must be a list of strings"},
      {"[user.anna]\nteams = [7]\n", "f.toml:2: 'teams' must be a string"},
      {"[user.anna]\nkeys = \"ssh-ed25519\"\n", "f.toml:2: 'keys' must be a list of strings"},
      {"[user.anna]\nkeys = [\"ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAgQC7\"]\n", nullptr},
      {"[team.nlp]\npriority-max = 3000000000\n",
       "f.toml:2: 'priority-max' must be a whole number of 32 bits"},
      {"[access]\njobs = \"mine\"\n", "f.toml:2: 'jobs' must be team or all"},
      {"[access]\ngroups = \"x\"\n",
       "f.toml:2: unknown key 'groups' in [access]; the keys are: unix-users, jobs"},
      {"[users.anna]\n", "f.toml:1: unknown table 'users'; the tables are: access, team, user"},
      {"[user.anna]\n[user.anna]\n", nullptr},
  };
  for (const auto& [text, why] : cases) {
    const auto file = parse_users_file(text, "f.toml");
    ASSERT_FALSE(file) << text;
    if (why != nullptr) {
      EXPECT_EQ(file.error().text, why);
    }
  }
}

}  // namespace
}  // namespace muster::cli
