// muster whoami, user, team, access and users apply: the orders that they send, and the texts that
// people read.

#include <gtest/gtest.h>

#include "agent/api/jobs.h"
#include "agent/api/users.h"
#include "tests/cli/kit/fake_world.h"

namespace muster::cli {
namespace {

using agent::ResponseStatus;
using agent::Verb;

agent::UserList some_users() {
  agent::UserList list;
  list.version = 7;
  list.are_logins_users = true;
  list.teams = {{"default", 100, 1}, {"nlp", 500, 1}};
  list.users = {{"anna", "lead", {"nlp"}}, {"root", "admin", {}}};
  return list;
}

agent::JobList some_jobs() {
  agent::JobList jobs;
  jobs.jobs.resize(2);
  jobs.jobs[0].id = JobId(3);
  jobs.jobs[0].user = "anna";
  jobs.jobs[0].state = "running";
  jobs.jobs[1].id = JobId(4);
  jobs.jobs[1].user = "anna";
  jobs.jobs[1].state = "completed";
  return jobs;
}

void answer_all(FakeWorld& world) {
  world.answers([](const agent::Request& request) -> Result<agent::Response> {
    return request.verb == Verb::kUsers  ? answer_with(some_users())
           : request.verb == Verb::kJobs ? answer_with(some_jobs())
                                         : answer_with(agent::JobRef{});
  });
}

/// stdout of a verb in a world of its own, where the list above is.
std::string output_of(const std::vector<std::string>& args) {
  FakeWorld world;
  answer_all(world);
  return world.output_of(args);
}

/// The change in the last request.
scheduler::DirectoryChange change_in(const FakeWorld& world) {
  for (auto each = world.requests().rbegin(); each != world.requests().rend(); ++each) {
    if (each->verb == Verb::kChangeUsers) {
      return agent::decode_payload<agent::DirectoryArgs>(each->arguments)
          .value_or(agent::DirectoryArgs())
          .change;
    }
  }
  ADD_FAILURE() << "no change was ordered";
  return {};
}

TEST(Whoami, SaysTheProofRoleAndTeams) {
  FakeWorld world;
  world.answers(answer_with(agent::WhoamiInfo{"anna", "n1", true, true, true, "lead", {"nlp"}, 7}));
  EXPECT_EQ(world.output_of({"whoami"}),
            "user      anna\n"
            "proof     login on host n1, which vouches for it\n"
            "role      lead\n"
            "teams     nlp\n");
  world.answers(
      answer_with(agent::WhoamiInfo{"bob", "n1", true, true, false, "user", {"default"}, 7}));
  EXPECT_NE(world.output_of({"whoami"}).find("role      user (as every login without a record)"),
            std::string::npos);
  world.answers(
      answer_with(agent::WhoamiInfo{"bob", "n2", false, true, false, "user", {"default"}, 7}));
  EXPECT_NE(
      world.output_of({"whoami"}).find("role      none: host n2 may not vouch for its logins\n"),
      std::string::npos);
}

TEST(Users, AreListedWithRolesAndTeams) {
  FakeWorld world;
  answer_all(world);
  EXPECT_EQ(world.output_of({"user", "list"}),
            "USER  ROLE   TEAMS\n"
            "anna  lead   nlp\n"
            "root  admin  default\n");
  EXPECT_NE(world.err().find("every other login has the role user"), std::string::npos);
  EXPECT_EQ(output_of({"team", "list"}),
            "TEAM     HIGHEST PRIORITY  USERS\n"
            "default               100      1\n"
            "nlp                   500      1\n");
  EXPECT_NE(output_of({"user", "list", "--json"})
                .find(R"({"user":"anna","user_role":"lead","member_of":["nlp"],"keys":[]})"),
            std::string::npos);
}

TEST(Users, AreAddedAndChangedAsToldAndNotByMistake) {
  FakeWorld world;
  answer_all(world);
  EXPECT_EQ(world.output_of({"user", "add", "bob", "--role", "lead", "--team", "nlp"}),
            "user bob: role lead, joins team nlp\n");
  const auto added = change_in(world);
  ASSERT_EQ(added.users.size(), 1U);
  EXPECT_EQ(added.users[0],
            (scheduler::UserChange{"bob", false, scheduler::UserRole::kLead, {"nlp"}, {}}));
  EXPECT_EQ(world.run({"user", "add", "anna"}), 7);
  EXPECT_EQ(world.run({"user", "set", "bob", "--role", "user"}), 6);
  EXPECT_EQ(world.run({"user", "set", "anna"}), 2);
  EXPECT_EQ(world.run({"user", "set", "anna", "--role", "boss"}), 2);
  EXPECT_EQ(output_of({"user", "set", "anna", "--role", "operator", "--leave", "nlp"}),
            "user anna: role operator, leaves team nlp\n");
}

TEST(Users, ARemovalNamesTheJobsThatGoOnOrCancelsThem) {
  FakeWorld world;
  answer_all(world);
  EXPECT_EQ(world.output_of({"user", "remove", "anna"}), "user anna: removed\n");
  EXPECT_NE(world.err().find("these jobs of anna go on: 3"), std::string::npos) << world.err();
  EXPECT_NE(world.err().find("anna still has the role user"), std::string::npos) << world.err();
  FakeWorld other;
  answer_all(other);
  EXPECT_EQ(other.output_of({"user", "remove", "anna", "--cancel-jobs"}),
            "user anna: removed\ncancelled: jobs 3\n");
  EXPECT_EQ(other.requests().back().verb, Verb::kCancel);
  EXPECT_EQ(world.run({"user", "remove", "bob"}), 6);
}

TEST(Teams, AreAddedChangedAndRemoved) {
  FakeWorld world;
  answer_all(world);
  EXPECT_EQ(output_of({"team", "add", "vision"}), "team vision: added\n");
  EXPECT_EQ(world.output_of({"team", "set", "nlp", "--priority-max", "9"}),
            "team nlp: highest priority 9\n");
  EXPECT_EQ(change_in(world).teams[0].priority_max, 9);
  EXPECT_EQ(output_of({"team", "remove", "nlp"}), "team nlp: removed\n");
  EXPECT_EQ(world.run({"team", "add", "nlp"}), 7);
  EXPECT_EQ(world.run({"team", "set", "vision", "--priority-max", "1"}), 6);
  EXPECT_EQ(world.run({"team", "set", "nlp"}), 2);
}

TEST(AccessRules, AreShownAndSet) {
  FakeWorld world;
  answer_all(world);
  EXPECT_EQ(output_of({"access"}),
            "unix-users  user  logins without a record have the role user\n"
            "jobs        all   everybody sees all jobs\n");
  EXPECT_EQ(world.output_of({"access", "set", "unix-users=none", "jobs=team"}),
            "access: unix-users=none\naccess: jobs=team\n");
  EXPECT_EQ(change_in(world).are_logins_users, std::optional(false));
  EXPECT_EQ(world.run({"access", "set"}), 2);
  EXPECT_EQ(world.run({"access", "set", "unix-users=root"}), 2);
}

TEST(AdminReset, SendsANewKeyOnceThePersonMeansIt) {
  FakeWorld world;
  answer_all(world);
  EXPECT_EQ(world.run({"admin", "reset"}), 2) << "there is no terminal to ask at";
  EXPECT_TRUE(world.requests().empty());
  EXPECT_EQ(
      world.output_of({"admin", "reset", "--yes"}),
      "user ann: administrator by that key alone; all others have no key, and no administrator "
      "has an access token\n");
  EXPECT_NE(
      world.err().find("your key for administering the cluster is ~/.config/muster/admin_key"),
      std::string::npos)
      << world.err();
  const agent::Request& asked = world.requests().back();
  EXPECT_EQ(asked.verb, Verb::kResetAdmin);
  const auto args = agent::decode_payload<agent::ResetAdminArgs>(asked.arguments);
  ASSERT_TRUE(args.has_value());
  EXPECT_EQ(args->admin, "");
  EXPECT_EQ(args->key.comment, "ann@h1");
}

TEST(AdminReset, NamesAnotherPersonWhoGetsTheKey) {
  FakeWorld world;
  answer_all(world);
  EXPECT_EQ(world.run({"admin", "reset", "-y", "--admin", "eve"}), 0);
  EXPECT_NE(world.err().find("hand the key file to eve"), std::string::npos) << world.err();
  const auto args = agent::decode_payload<agent::ResetAdminArgs>(world.requests().back().arguments);
  EXPECT_EQ(args.value_or(agent::ResetAdminArgs()).admin, "eve");
  FakeWorld denied;
  denied.answers([](const agent::Request&) -> Result<agent::Response> {
    return refusal(ResponseStatus::kDenied, "only root of a voter");
  });
  const gossip::SshKey key{gossip::SshKeyType::kEd25519, std::string(gossip::kSshPointBytes, 'e'),
                           ""};
  EXPECT_EQ(denied.run({"admin", "reset", "-y", "--ssh-key", to_line(gossip::SshKeyLine{key, ""})}),
            4);
  EXPECT_EQ(denied.err().find("your key"), std::string::npos) << "none was made";
}

TEST(UsersApply, MakesOrPrintsTheChangesOfAFile) {
  FakeWorld world;
  answer_all(world);
  world.written["f.toml"] = "[user.anna]\nrole = \"user\"\n[team.vision]\n";
  const std::string changes = "team vision: added\nuser anna: role user\n";
  EXPECT_EQ(world.output_of({"users", "apply", "f.toml", "--dry-run"}), changes);
  EXPECT_EQ(world.requests().back().verb, Verb::kUsers) << "it only looked";
  FakeWorld other;
  answer_all(other);
  other.written = world.written;
  EXPECT_EQ(other.output_of({"users", "apply", "f.toml"}), changes);
  EXPECT_EQ(other.requests().back().verb, Verb::kChangeUsers);
  world.written["same.toml"] = "[user.anna]\nrole = \"lead\"\nteams = [\"nlp\"]\n";
  EXPECT_EQ(world.run({"users", "apply", "same.toml"}), 0);
  EXPECT_EQ(world.requests().back().verb, Verb::kUsers);
  EXPECT_EQ(world.run({"users", "apply", "none.toml"}), 6);
  world.written["bad.toml"] = "[user.anna]\nrolle = 1\n";
  EXPECT_EQ(world.run({"users", "apply", "bad.toml"}), 2);
}

TEST(Users, AChangeThatIsDeniedSaysWhoCould) {
  FakeWorld world;
  world.answers([](const agent::Request& request) -> Result<agent::Response> {
    return request.verb == Verb::kUsers
               ? answer_with(some_users())
               : refusal(ResponseStatus::kDenied, "user ann (role user) may not do that");
  });
  EXPECT_EQ(world.run({"user", "add", "bob", "--role", "admin"}), 4);
  EXPECT_NE(world.err().find("may not do that"), std::string::npos);
}

}  // namespace
}  // namespace muster::cli
