// The jobs that an agent takes, and the user that their ranks become: tables.

#include "agent/edge/grant/rank_user.h"

#include <gtest/gtest.h>

namespace muster::agent {
namespace {

using Kind = RankUser::Kind;

const RankUserRule kRoot{"root", true, false, {"backup"}};
const RankUserRule kSharedRoot{"root", true, true, {}};
const RankUserRule kCi{"ci", false, false, {"anna"}};
const RankUserRule kSharedCi{"ci", false, true, {}};

TEST(RankUser, AnAgentTakesTheJobsThatItMayRun) {
  const struct {
    const RankUserRule& rule;
    std::string user;
    RankUser wanted;
  } cases[] = {
      {kRoot, "anna", {Kind::kPerson, "anna"}},
      {kRoot, "CORP\\anna berg", {Kind::kPerson, "CORP\\anna berg"}},
      {kRoot, "b\xc3\xb6rn", {Kind::kPerson, "b\xc3\xb6rn"}},
      {kRoot, "backup", {Kind::kSystem, "backup"}},
      {kRoot, "toor", {Kind::kPerson, "toor"}},  // Its uid, 0, is refused when it is resolved.
      {kCi, "ci", {}},
      {kSharedRoot, "root", {}},
      {kSharedRoot, "anna", {}},
      {kSharedCi, "anna", {}},
      {kSharedCi, "", {}},
  };
  for (const auto& one : cases) {
    const Result<RankUser> user = rank_user(one.rule, one.user);
    ASSERT_TRUE(user) << one.user << ": " << user.error().text;
    EXPECT_EQ(*user, one.wanted) << one.user;
  }
}

TEST(RankUser, ARefusalSaysWhyAndWhatToDo) {
  const struct {
    const RankUserRule& rule;
    std::string user;
    std::string text;
  } cases[] = {
      {kRoot, "root",
       "jobs of root do not run: submit as another user, or share the user of this agent "
       "(shared_user = true)"},
      {kCi, "anna",
       "the agent runs as ci and takes no job of anna: run it as root, or share its user "
       "(shared_user = true)"},
      {kCi, "root",
       "the agent runs as ci and takes no job of root: run it as root, or share its user "
       "(shared_user = true)"},
      {kRoot, "", "the user of the job is no login name"},
      {kCi, "", "the user of the job is no login name"},
      {RankUserRule{}, "", "the user of the job is no login name"},
      {kRoot, std::string("anna\0x", 6), "the user of the job is no login name"},
      {kRoot, "a:b", "the user of the job is no login name"},
      {kRoot, "a\nb", "the user of the job is no login name"},
      {kRoot, std::string(kLoginNameBytesMax + 1, 'a'), "the user of the job is no login name"},
  };
  for (const auto& one : cases) {
    const Result<RankUser> user = rank_user(one.rule, one.user);
    ASSERT_FALSE(user) << one.user;
    EXPECT_EQ(user.error().code, ErrorCode::kDenied);
    EXPECT_EQ(user.error().text, one.text);
  }
}

TEST(RankUser, NoRankBecomesRootNorAServiceOfTheSystem) {
  const struct {
    std::uint32_t uid;
    std::uint32_t gid;
    Kind kind;
    std::string why;
  } cases[] = {
      {0, 0, Kind::kPerson, "user u is root on this host: submit as another user"},
      {0, 1000, Kind::kSystem, "user u is root on this host: submit as another user"},
      {34, 34, Kind::kPerson,
       "user u is a system user on this host (uid 34): name it in system_users_may_run"},
      {999, 1000, Kind::kPerson,
       "user u is a system user on this host (uid 999): name it in system_users_may_run"},
      {UINT32_MAX, 1000, Kind::kPerson, "user u has no id on this host"},
      {1000, UINT32_MAX, Kind::kSystem, "user u has no id on this host"},
      {34, 34, Kind::kSystem, ""},
      {1000, 100, Kind::kPerson, ""},
      {65534, 65534, Kind::kPerson, ""},
  };
  for (const auto& one : cases) {
    EXPECT_EQ(why_not_become({"u", one.uid, one.gid, {}, "/", "/bin/sh"}, one.kind).value_or(""),
              one.why);
  }
}

TEST(RankUser, ARankHasTheHomeOfItsUserOnThisHost) {
  const RankIdentity anna{"anna", 1000, 1000, {1000}, "/home/anna", "/bin/bash"};
  EXPECT_EQ(environment_of(anna, {"HOME=/root", "HOMES=2", "PATH=/bin", "USER=root", "odd", "=x"}),
            (std::vector<std::string>{"HOME=/home/anna", "USER=anna", "LOGNAME=anna",
                                      "SHELL=/bin/bash", "HOMES=2", "PATH=/bin", "odd", "=x"}));
}

TEST(RankUser, ItsKindTravelsAsAWord) {
  for (const Kind kind : {Kind::kAgent, Kind::kPerson, Kind::kSystem}) {
    EXPECT_EQ(rank_user_kind_of(text_of(kind)), kind);
  }
  EXPECT_EQ(rank_user_kind_of(""), std::nullopt);
  EXPECT_EQ(rank_user_kind_of("root"), std::nullopt);
}

}  // namespace
}  // namespace muster::agent
