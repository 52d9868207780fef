// A Node and the users of the cluster: an administrator changes them by requests, which others may
// not.

#include <gtest/gtest.h>

#include "agent/api/hosts.h"
#include "agent/api/payload.h"
#include "agent/api/request.h"
#include "agent/api/users.h"
#include "agent/node/node.h"
#include "tests/agent/node/bare_node.h"

namespace muster::agent {
namespace {

using namespace std::chrono_literals;  // NOLINT: literals only.
using testing::BareNode;
using testing::kAdmin;
using testing::kSelf;
using testing::request;

Response answer_of(BareNode& bare, const std::string& user, Verb verb, std::string arguments) {
  Request asked = request(verb, std::move(arguments));
  asked.user = user;
  return bare.ask(asked).value_or(Response());
}

TEST(Node, AnAdministratorGivesRolesAndOthersDoNot) {
  BareNode bare(1);
  bare.pass(5s);
  const auto role = [](const std::string& name, scheduler::UserRole given) {
    DirectoryArgs change;
    change.change.users.push_back({name, false, given});
    return encode_payload(change);
  };
  const std::string operator_role = role("ann", scheduler::UserRole::kOperator);
  const Response denied = answer_of(bare, "ann", Verb::kChangeUsers, operator_role);
  EXPECT_EQ(denied.status, ResponseStatus::kDenied) << denied.text;
  const std::string drain = encode_payload(DrainArgs{kSelf, "disk", false, 0});
  EXPECT_EQ(answer_of(bare, "ann", Verb::kDrain, drain).status, ResponseStatus::kDenied);
  EXPECT_EQ(answer_of(bare, kAdmin, Verb::kChangeUsers, operator_role).status, ResponseStatus::kOk);
  EXPECT_EQ(answer_of(bare, "ann", Verb::kDrain, drain).status, ResponseStatus::kOk);
  const auto whoami = decode_payload<WhoamiInfo>(answer_of(bare, "ann", Verb::kWhoami, "").payload)
                          .value_or(WhoamiInfo());
  EXPECT_TRUE(whoami.is_vouched);
  EXPECT_TRUE(whoami.has_record);
  EXPECT_EQ(whoami.role, "operator");
  EXPECT_EQ(whoami.teams, std::vector<std::string>{"default"});
  const Response last =
      answer_of(bare, kAdmin, Verb::kChangeUsers, role(kAdmin, scheduler::UserRole::kUser));
  EXPECT_EQ(last.status, ResponseStatus::kConflict) << last.text;
  const auto list = decode_payload<UserList>(answer_of(bare, "bob", Verb::kUsers, "").payload)
                        .value_or(UserList());
  ASSERT_EQ(list.users.size(), 2U);
  EXPECT_EQ(list.users[0], (UserInfo{kAdmin, "admin", {}}));
  EXPECT_EQ(list.users[1], (UserInfo{"ann", "operator", {}}));
}

}  // namespace
}  // namespace muster::agent
