#include "scheduler/access/authorize.h"

#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace muster::scheduler {
namespace {

// The oracle: the table of access as people read it, one word a cell, written apart from the gate.
// "own" = own jobs, "team" = own ones and those of own teams, "all", "-" = nothing.
const std::map<std::string, std::map<Right, std::string>> kTableOfPeople = {
    {"viewer",
     {{Right::kMaySee, "all"},
      {Right::kMaySeeJobs, "all"},
      {Right::kMayReadOutput, "-"},
      {Right::kMaySubmit, "-"},
      {Right::kMayOrderJobs, "-"},
      {Right::kMayPrioritise, "-"},
      {Right::kMayOperate, "-"},
      {Right::kMayMakeTokens, "own"},
      {Right::kMayRule, "-"}}},
    {"user",
     {{Right::kMaySee, "all"},
      {Right::kMaySeeJobs, "all"},
      {Right::kMayReadOutput, "own"},
      {Right::kMaySubmit, "team"},
      {Right::kMayOrderJobs, "own"},
      {Right::kMayPrioritise, "own"},
      {Right::kMayOperate, "-"},
      {Right::kMayMakeTokens, "own"},
      {Right::kMayRule, "-"}}},
    {"lead",
     {{Right::kMaySee, "all"},
      {Right::kMaySeeJobs, "all"},
      {Right::kMayReadOutput, "team"},
      {Right::kMaySubmit, "team"},
      {Right::kMayOrderJobs, "team"},
      {Right::kMayPrioritise, "team"},
      {Right::kMayOperate, "-"},
      {Right::kMayMakeTokens, "own"},
      {Right::kMayRule, "-"}}},
    {"operator",
     {{Right::kMaySee, "all"},
      {Right::kMaySeeJobs, "all"},
      {Right::kMayReadOutput, "-"},
      {Right::kMaySubmit, "-"},
      {Right::kMayOrderJobs, "all"},
      {Right::kMayPrioritise, "all"},
      {Right::kMayOperate, "all"},
      {Right::kMayMakeTokens, "own"},
      {Right::kMayRule, "-"}}},
    {"admin",
     {{Right::kMaySee, "all"},
      {Right::kMaySeeJobs, "all"},
      {Right::kMayReadOutput, "all"},
      {Right::kMaySubmit, "all"},
      {Right::kMayOrderJobs, "all"},
      {Right::kMayPrioritise, "all"},
      {Right::kMayOperate, "all"},
      {Right::kMayMakeTokens, "all"},
      {Right::kMayRule, "all"}}},
};

/// Users named as their roles, all in team vision; eve is in team speech.
Directory cluster() {
  Directory directory;
  directory.found({"root"}, LogIndex(1));
  DirectoryChange change;
  change.teams = {{"vision"}, {"speech"}};
  for (const auto& [role, cells] : kTableOfPeople) {
    change.users.push_back({role, false, role_of(role), {"vision"}, {}});
  }
  change.users.push_back({"eve", false, UserRole::kLead, {"speech"}, {}});
  EXPECT_TRUE(directory.change(change, LogIndex(2)));
  return directory;
}

TEST(Authorize, AgreesWithTheTableInEveryCell) {
  const Directory directory = cluster();
  int cells_checked = 0;
  for (const auto& [role, cells] : kTableOfPeople) {
    for (const auto& [right, cell] : cells) {
      const struct {
        std::string owner, team;
        bool is_own, is_team;
      } kObjects[] = {{role, "vision", true, true},
                      {role, "speech", true, false},
                      {"bob", "vision", false, true},
                      {"bob", "speech", false, false}};
      for (const auto& object : kObjects) {
        // The submitter is the owner: only the team of a new job says whether it may be.
        const bool is_own = object.is_own && right != Right::kMaySubmit;
        const bool wanted = cell == "all" || (cell == "own" && is_own) ||
                            (cell == "team" && (is_own || object.is_team));
        const std::string why =
            why_denied(directory, role, right, {"job 1", object.owner, object.team});
        EXPECT_EQ(why.empty(), wanted)
            << role << ", right " << static_cast<int>(right) << ", job of " << object.owner
            << " in " << object.team << ": " << why;
        ++cells_checked;
      }
    }
  }
  EXPECT_EQ(cells_checked, 5 * 9 * 4);
}

TEST(Authorize, DeniesStrangersAndEverybodyBeforeTheFounding) {
  Directory closed = cluster();
  ASSERT_TRUE(closed.change({.teams = {}, .users = {}, .are_logins_users = false}, LogIndex(2)));
  for (int right = 0; right <= static_cast<int>(Right::kMayRule); ++right) {
    const auto each = static_cast<Right>(right);
    EXPECT_NE(why_denied(closed, "mallory", each, {}), "");
    EXPECT_NE(why_denied(closed, "", each, {}), "");
    EXPECT_NE(why_denied(Directory(), "root", each, {}), "");
  }
  EXPECT_NE(why_denied(closed, "root", static_cast<Right>(200), {}), "");
}

TEST(Authorize, TheCeilingOfATeamBindsItsUsersAndLeads) {
  Directory directory = cluster();
  ASSERT_TRUE(directory.change({{{"vision", false, 10}}, {}}, LogIndex(2)));
  for (const Right right : {Right::kMaySubmit, Right::kMayPrioritise}) {
    for (const std::string name : {"user", "lead"}) {
      EXPECT_EQ(why_denied(directory, name, right, {"", name, "vision", 10}), "");
      EXPECT_EQ(why_denied(directory, name, right, {"", name, "vision", 11}),
                "the highest priority of team vision is 10");
    }
    EXPECT_EQ(why_denied(directory, "admin", right, {"", "bob", "vision", 1000}), "");
  }
  EXPECT_EQ(why_denied(directory, "ann", Right::kMaySubmit, {"", "ann", "default", 100}), "");
  EXPECT_NE(why_denied(directory, "ann", Right::kMaySubmit, {"", "ann", "default", 101}), "");
}

TEST(Authorize, OtherTeamsJobsCanBeHidden) {
  Directory directory = cluster();
  ASSERT_TRUE(directory.change({.teams = {}, .users = {}, .hides_other_teams = true}, LogIndex(2)));
  for (const std::string name : {"viewer", "user", "lead"}) {
    EXPECT_EQ(why_denied(directory, name, Right::kMaySeeJobs, {"", "bob", "vision"}), "");
    EXPECT_NE(why_denied(directory, name, Right::kMaySeeJobs, {"", "bob", "speech"}), "");
    EXPECT_EQ(why_denied(directory, name, Right::kMaySeeJobs, {}), "") << "the list itself";
  }
  for (const std::string name : {"operator", "admin"}) {
    EXPECT_EQ(why_denied(directory, name, Right::kMaySeeJobs, {"", "bob", "speech"}), "");
  }
}

TEST(Authorize, ARefusalNamesTheRolesThatCould) {
  const Directory directory = cluster();
  EXPECT_EQ(why_denied(directory, "ann", Right::kMayOrderJobs, {"job 12", "bob", "vision"}),
            "job 12 of user bob, team vision: user ann (role user) may not change it: user bob, a "
            "lead of team vision (lead), an operator (operator) or an admin (admin or root) can");
  EXPECT_EQ(why_denied(directory, "user", Right::kMayOperate, {}),
            "user user (role user) may not operate the hosts: an operator (operator) or an admin "
            "(admin or root) can");
  EXPECT_EQ(why_denied(directory, "user", Right::kMaySubmit, {"", "user", "speech"}),
            "user user is not in team speech: a lead or an admin can add user with `muster user "
            "set user --join speech`");
  EXPECT_EQ(why_denied(directory, "user", Right::kMaySubmit, {"", "user", "nope"}),
            "there is no team nope: see `muster team list`");
}

TEST(Authorize, ALeadManagesOwnTeamsAndGivesNoRole) {
  const Directory directory = cluster();
  const auto denied = [&](const std::string& who, const DirectoryChange& change) {
    return !why_denied(directory, who, change).empty();
  };
  const auto joins = [](const std::string& team, std::optional<UserRole> role = {}) {
    return DirectoryChange{{}, {{"new", false, role, {team}, {}}}};
  };
  const DirectoryChange leaves_speech{{}, {{"eve", false, {}, {}, {"speech"}}}};
  const DirectoryChange removes{{}, {{.name = "user", .is_removal = true}}};
  const DirectoryChange team{{{"vision", false, 1000}}, {}};
  const DirectoryChange rules{.teams = {}, .users = {}, .are_logins_users = true};
  const DirectoryChange stranger_alone{{}, {{"new", false, {}, {}, {}}}};
  const DirectoryChange stranger_leaves{{}, {{"new", false, {}, {}, {"vision"}}}};
  EXPECT_TRUE(denied("lead", stranger_alone)) << "a record lets a stranger in";
  EXPECT_TRUE(denied("lead", stranger_leaves));
  EXPECT_FALSE(denied("admin", stranger_alone));
  EXPECT_FALSE(denied("lead", joins("vision")));
  EXPECT_TRUE(denied("lead", joins("speech")));
  EXPECT_TRUE(denied("lead", leaves_speech));
  EXPECT_FALSE(denied("eve", leaves_speech));
  for (const UserRole role : {UserRole::kViewer, UserRole::kUser, UserRole::kLead,
                              UserRole::kOperator, UserRole::kAdmin}) {
    EXPECT_TRUE(denied("lead", joins("vision", role)));
    EXPECT_FALSE(denied("admin", joins("vision", role)));
  }
  for (const DirectoryChange& change : {removes, team, rules, joins("vision")}) {
    for (const std::string who : {"viewer", "user", "operator", "bob"}) {
      EXPECT_TRUE(denied(who, change)) << who;
    }
    EXPECT_FALSE(denied("admin", change));
  }
  for (const DirectoryChange& change : {removes, team, rules}) {
    EXPECT_TRUE(denied("lead", change));
  }
}

// A token permits a part of what its user may; its right is asked beside that of its user.
TEST(Authorize, ATokenPermitsWhatItWasMadeFor) {
  const AccessTokenId id = AccessTokenId::from_bytes("token___________");
  const AccessObject own{"job 1", "user", "vision"};
  const AccessObject of_another{"job 2", "eve", "speech"};
  for (const bool may_read : {false, true}) {
    for (const bool may_submit : {false, true}) {
      Directory directory = cluster();
      ASSERT_TRUE(directory.make_token(
          id, {"hash", "user", "ci", {may_read, may_submit}, "vision", Duration(100)},
          Duration(0)));
      const auto is_permitted = [&](Right right, const AccessObject& object) {
        return why_token_denied(directory, {"user@n", "user", {}, id}, Duration(99), right, object)
            .empty();
      };
      for (const Right right : {Right::kMaySee, Right::kMaySeeJobs, Right::kMayReadOutput}) {
        EXPECT_EQ(is_permitted(right, own), may_read);
      }
      for (const Right right : {Right::kMaySubmit, Right::kMayOrderJobs}) {
        EXPECT_EQ(is_permitted(right, own), may_submit);
        EXPECT_FALSE(is_permitted(right, of_another));
      }
      for (const Right right : {Right::kMayPrioritise, Right::kMayOperate, Right::kMayManageUsers,
                                Right::kMayMakeTokens, Right::kMayRule}) {
        EXPECT_FALSE(is_permitted(right, own)) << static_cast<int>(right);
      }
    }
  }
}

TEST(Authorize, ATokenEndsByTimeAndIsOfItsUserAlone) {
  const AccessTokenId id = AccessTokenId::from_bytes("token___________");
  Directory directory = cluster();
  ASSERT_TRUE(directory.make_token(id, {"hash", "user", "ci", {true, true}, "", Duration(100)},
                                   Duration(0)));
  const auto why = [&](const std::string& user, AccessTokenId token, Duration at) {
    return why_token_denied(directory, {"", user, {}, token}, at, Right::kMaySee, {});
  };
  EXPECT_EQ(why("user", id, Duration(99)), "");
  EXPECT_EQ(why("user", AccessTokenId(), Duration(100)), "") << "no token";
  EXPECT_NE(why("user", id, Duration(100)).find("has expired"), std::string::npos);
  EXPECT_NE(why("admin", id, Duration(0)).find("not one of user admin"), std::string::npos);
  EXPECT_EQ(why("user", AccessTokenId::from_bytes("another_________"), Duration(0)), kTokenUnknown);
  ASSERT_TRUE(directory.change({{}, {UserChange{"user", true}}}, LogIndex(2)));
  EXPECT_EQ(why("user", id, Duration(99)), kTokenUnknown);
}

}  // namespace
}  // namespace muster::scheduler
