// A Node and the users of the cluster: an administrator changes them by requests, which others may
// not.

#include <gtest/gtest.h>

#include "agent/api/enrolment.h"
#include "agent/api/hosts.h"
#include "agent/api/payload.h"
#include "agent/api/request.h"
#include "agent/api/users.h"
#include "agent/node/node.h"
#include "scheduler/access/intent.h"
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

const auto kPen = gossip::testing::signer_of_person("admin");
const gossip::SshKeyLine kPenKey{
    {gossip::SshKeyType::kEd25519, std::string(kPen->public_key()), ""}, "admin@home"};

Request signed_request(Verb verb, std::string arguments, const scheduler::Intent& intent,
                       bool holds) {
  Request asked = request(verb, std::move(arguments));
  asked.user = intent.user;
  asked.signature =
      signature_for(intent,
                    gossip::sign_ssh(*kPen, scheduler::kIntentNamespace, message_of(intent),
                                     gossip::testing::StandInVerifier()),
                    holds);
  return asked;
}

TEST(Node, AnAdministratorWithAKeyHasToSign) {
  BareNode bare(kPenKey);
  bare.pass(5s);
  const auto whoami = decode_payload<WhoamiInfo>(answer_of(bare, kAdmin, Verb::kWhoami, "").payload)
                          .value_or(WhoamiInfo());
  EXPECT_EQ(whoami.cluster, bare.node().cluster());
  ASSERT_EQ(whoami.keys.size(), 1U);
  EXPECT_EQ(whoami.keys[0].line, to_line(kPenKey));
  EXPECT_TRUE(whoami.keys[0].fingerprint.starts_with("SHA256:"));

  DirectoryArgs change;
  change.change.users.push_back({"ann", false, scheduler::UserRole::kAdmin});
  const std::string arguments = encode_payload(change);
  const Response refused = answer_of(bare, kAdmin, Verb::kChangeUsers, arguments);
  EXPECT_EQ(refused.status, ResponseStatus::kDenied);
  const auto wanted = decode_payload<SignatureWanted>(refused.payload).value_or(SignatureWanted());
  EXPECT_EQ(wanted.keys, whoami.keys);

  const scheduler::Intent intent{whoami.cluster, kAdmin, wanted.keys.at(0).next,
                                 words_of(change.change)};
  DirectoryArgs other = change;
  other.change.users[0].name = "mallory";
  const Request moved = signed_request(Verb::kChangeUsers, encode_payload(other), intent, false);
  EXPECT_EQ(bare.ask(moved)->status, ResponseStatus::kDenied);
  const Request good = signed_request(Verb::kChangeUsers, arguments, intent, false);
  EXPECT_EQ(bare.ask(good)->status, ResponseStatus::kOk);
  const Response again = bare.ask(good).value_or(Response());
  EXPECT_EQ(again.status, ResponseStatus::kConflict);
  EXPECT_EQ(again.text, scheduler::kSignAgain);
  const auto next = decode_payload<SignatureWanted>(again.payload).value_or(SignatureWanted());
  EXPECT_EQ(next.keys.at(0).next, intent.number + 1);
}

TEST(Node, RotationsAndTicketsWithRightsAreSignedAndPlainTicketsAreNot) {
  BareNode bare(kPenKey);
  bare.pass(5s);
  const auto number = [&] {
    const auto whoami =
        decode_payload<WhoamiInfo>(answer_of(bare, kAdmin, Verb::kWhoami, "").payload);
    return whoami.value_or(WhoamiInfo()).keys.at(0).next;
  };
  TicketArgs ticket;
  ticket.key = std::string(32, 't');
  ticket.ttl_ms = 60'000;
  EXPECT_EQ(answer_of(bare, kAdmin, Verb::kMakeTicket, encode_payload(ticket)).status,
            ResponseStatus::kOk);
  ticket.key = std::string(32, 'u');
  ticket.may_vote = true;
  EXPECT_EQ(answer_of(bare, kAdmin, Verb::kMakeTicket, encode_payload(ticket)).status,
            ResponseStatus::kDenied);
  scheduler::entry::MakeTicket wish;
  wish.key = ticket.key;
  wish.ttl = 60s;
  wish.may_vote = true;
  const ClusterId cluster = bare.node().cluster();
  EXPECT_EQ(bare.ask(signed_request(Verb::kMakeTicket, encode_payload(ticket),
                                    {cluster, kAdmin, number(), scheduler::words_of(wish)}, false))
                ->status,
            ResponseStatus::kOk);

  const std::string rotation = encode_payload(RotateArgs());
  EXPECT_EQ(answer_of(bare, kAdmin, Verb::kRotateKeys, rotation).status, ResponseStatus::kDenied);
  const scheduler::MemberOrder order{scheduler::MemberOrder::Kind::kRotateKeys};
  const scheduler::Intent intent{cluster, kAdmin, number(), words_of(order)};
  EXPECT_EQ(bare.ask(signed_request(Verb::kRotateKeys, rotation, intent, true))->status,
            ResponseStatus::kOk);
  EXPECT_EQ(number(), intent.number + 1);
}

}  // namespace
}  // namespace muster::agent
