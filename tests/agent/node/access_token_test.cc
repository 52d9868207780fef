// A Node and access tokens: a client that shows a line asks in the name of the token's user, and
// does no more than the token permits.

#include <gtest/gtest.h>

#include "agent/api/enrolment.h"
#include "agent/api/hosts.h"
#include "agent/api/jobs.h"
#include "agent/api/payload.h"
#include "agent/api/users.h"
#include "scheduler/access/access_token.h"
#include "tests/agent/node/bare_node.h"

namespace muster::agent {
namespace {

using namespace std::chrono_literals;  // NOLINT: literals only.
using scheduler::AccessToken;
using scheduler::AccessTokenId;
using testing::BareNode;
using testing::kAdmin;
using testing::kPeer;
using testing::kSelf;

const AccessTokenId kTokenId = AccessTokenId::from_bytes("token of ann____");

/// A founder with one GPU that runs as root, and a token of ann.
class NodeWithToken : public ::testing::Test {
 protected:
  NodeWithToken() : bare_(Login{0, "root"}) { bare_.pass(5s); }

  AccessToken token() {
    return {bare_.node().cluster(), kTokenId, std::string(scheduler::kAccessSecretBytes, 's')};
  }
  /// Of a login: it may not be the one that the client names.
  Response of_login(const std::string& name, Verb verb, std::string arguments = "",
                    const std::string& access = "") {
    Request asked;
    asked.verb = verb;
    asked.arguments = std::move(arguments);
    asked.access = access;
    return bare_.ask_as({gossip::Sender::Kind::kLogin, {}, "", 1000, name}, encode(asked))
        .value_or(Response());
  }
  Response of_token(Verb verb, std::string arguments = "") {
    return of_login("eve", verb, std::move(arguments), to_line(token()));
  }
  Response make(bool may_read, bool may_submit, std::uint64_t ttl_ms = 3'600'000) {
    const gossip::testing::StandInVerifier hashes;
    const TokenArgs made{kTokenId, hash_of(token(), hashes), "ci", may_read, may_submit, "",
                         ttl_ms};
    return of_login("ann", Verb::kMakeToken, encode_payload(made));
  }
  /// A request that the peer passes on.
  Response of_peer(const Request& asked) {
    gossip::Sender peer;
    peer.kind = gossip::Sender::Kind::kHost;
    peer.host = kPeer;
    return bare_.ask_as(peer, encode(asked)).value_or(Response());
  }

  BareNode bare_;
};

TEST_F(NodeWithToken, AClientThatShowsItAsksInTheNameOfItsUser) {
  ASSERT_EQ(make(true, true).status, ResponseStatus::kOk);
  const Response made = of_token(Verb::kSubmit, testing::submit_arguments());
  ASSERT_EQ(made.status, ResponseStatus::kOk) << made.text;
  const std::string job = encode_payload(JobRef{JobId(1)});
  const auto shown = decode_payload<JobDetail>(of_token(Verb::kShow, job).payload);
  ASSERT_TRUE(shown.has_value());
  EXPECT_EQ(shown->summary.user, "ann");
  EXPECT_FALSE(shown->is_private);
  const auto whoami = decode_payload<WhoamiInfo>(of_token(Verb::kWhoami).payload);
  ASSERT_TRUE(whoami.has_value());
  EXPECT_EQ(whoami->user, "ann");
  EXPECT_EQ(whoami->token.label, "ci");
  EXPECT_TRUE(whoami->token.may_read);
  EXPECT_GT(whoami->token.ends_in_ms, 0U);
  EXPECT_EQ(of_token(Verb::kCancel, job).status, ResponseStatus::kOk);
}

TEST_F(NodeWithToken, DoesNoMoreThanItWasMadeFor) {
  ASSERT_EQ(make(true, false).status, ResponseStatus::kOk);
  const Response submit = of_token(Verb::kSubmit, testing::submit_arguments());
  EXPECT_EQ(submit.status, ResponseStatus::kDenied);
  EXPECT_NE(submit.text.find("--may submit"), std::string::npos) << submit.text;
  EXPECT_EQ(of_token(Verb::kJobs).status, ResponseStatus::kOk);
  EXPECT_EQ(of_token(Verb::kTokens).status, ResponseStatus::kDenied);
  EXPECT_EQ(of_token(Verb::kLeave, encode_payload(LeaveArgs{true})).status,
            ResponseStatus::kDenied);
  EXPECT_FALSE(bare_.has_exited());
}

// A client that shows a token asks in its name alone, also root on its own host.
TEST_F(NodeWithToken, RootThatShowsItIsNotRoot) {
  ASSERT_EQ(make(true, true).status, ResponseStatus::kOk);
  for (const Verb verb : {Verb::kLeave, Verb::kRecover}) {
    Request asked;
    asked.verb = verb;
    asked.access = to_line(token());
    asked.arguments =
        verb == Verb::kLeave ? encode_payload(LeaveArgs{true}) : encode_payload(RecoverArgs{});
    const auto answer = bare_.ask(asked);
    ASSERT_TRUE(answer.has_value());
    EXPECT_EQ(answer->status, ResponseStatus::kDenied) << answer->text;
  }
  EXPECT_FALSE(bare_.has_exited());
}

TEST_F(NodeWithToken, ALineThatIsNoneIsRefusedWithTheReason) {
  ASSERT_EQ(make(true, true).status, ResponseStatus::kOk);
  const std::string line = to_line(token());
  AccessToken foreign = token();
  foreign.cluster = testing::kCluster;
  AccessToken guessed = token();
  guessed.secret[0] = 'x';
  AccessToken unknown = token();
  unknown.id = AccessTokenId::from_bytes("no token________");
  const struct {
    std::string line;
    std::string_view reason;
  } kRows[] = {
      {line.substr(0, line.size() - 1), "cut off or mistyped"},
      {std::string(scheduler::kAccessLineMax + 1, 'a'), "longer than 4096 bytes"},
      {"secret", "not an access token"},
      {to_line(foreign), "another cluster"},
      {to_line(guessed), "not the access token of its number"},
      {to_line(unknown), "no such access token"},
  };
  for (const auto& row : kRows) {
    for (const Verb verb : {Verb::kJobs, Verb::kHosts, Verb::kWhoami}) {
      const Response refused = of_login(kAdmin, verb, "", row.line);
      EXPECT_EQ(refused.status, ResponseStatus::kDenied) << row.reason;
      EXPECT_NE(refused.text.find(row.reason), std::string::npos) << refused.text;
      EXPECT_EQ(refused.text.find(row.line), std::string::npos);
    }
  }
}

TEST_F(NodeWithToken, EndsByTimeAndByRevocation) {
  ASSERT_EQ(make(true, true, 20'000).status, ResponseStatus::kOk);
  EXPECT_EQ(of_token(Verb::kJobs).status, ResponseStatus::kOk);
  bare_.pass(3min);  // Without jobs the leader logs the time seldom.
  const Response expired = of_token(Verb::kJobs);
  EXPECT_EQ(expired.status, ResponseStatus::kDenied);
  EXPECT_NE(expired.text.find("has expired"), std::string::npos) << expired.text;
  const std::string ref = encode_payload(TokenRef{kTokenId});
  EXPECT_EQ(of_login("eve", Verb::kEndToken, ref).status, ResponseStatus::kDenied);
  EXPECT_EQ(of_login("ann", Verb::kEndToken, ref).status, ResponseStatus::kOk);
  EXPECT_NE(of_token(Verb::kJobs).text.find("revoked"), std::string::npos);
}

TEST_F(NodeWithToken, AUserSeesOwnTokensAndTheAdministratorAll) {
  ASSERT_EQ(make(true, true).status, ResponseStatus::kOk);
  const auto seen = [&](const std::string& user, bool is_all) {
    return of_login(user, Verb::kTokens, encode_payload(TokensQuery{is_all, {}}));
  };
  const auto own = decode_payload<TokenList>(seen("ann", false).payload);
  ASSERT_TRUE(own.has_value());
  ASSERT_EQ(own->tokens.size(), 1U);
  EXPECT_EQ(own->tokens[0].user, "ann");
  EXPECT_TRUE(decode_payload<TokenList>(seen("eve", false).payload)->tokens.empty());
  EXPECT_EQ(seen("eve", true).status, ResponseStatus::kDenied);
  EXPECT_EQ(decode_payload<TokenList>(seen(kAdmin, true).payload)->tokens.size(), 1U);
}

TEST_F(NodeWithToken, AClientCannotSayThatATokenWasVerified) {
  ASSERT_EQ(make(true, true).status, ResponseStatus::kOk);
  Request asked;
  asked.verb = Verb::kTokens;
  asked.token = kTokenId;
  const auto answer =
      bare_.ask_as({gossip::Sender::Kind::kLogin, {}, "", 1000, "eve"}, encode(asked));
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->status, ResponseStatus::kOk) << "it is a request of eve";
  EXPECT_TRUE(decode_payload<TokenList>(answer->payload)->tokens.empty());
}

// The peer may vouch at first; then it may not.
TEST_F(NodeWithToken, AHostIsBelievedForANumberOnlyIfItMayVouch) {
  ASSERT_EQ(make(true, true).status, ResponseStatus::kOk);
  bare_.vouch({kPeer});
  Request by_number;
  by_number.verb = Verb::kJobs;
  by_number.via = "peer";
  by_number.token = kTokenId;
  Request by_line = by_number;
  by_line.token = {};
  by_line.access = to_line(token());
  EXPECT_EQ(of_peer(by_number).status, ResponseStatus::kOk);
  EXPECT_EQ(of_peer(by_line).status, ResponseStatus::kOk);

  crdt::RollRecord mute = crdt::testing::record_of(kPeer);
  mute.may_vouch = false;
  crdt::RowsBody rows;
  rows.rows.push_back({kPeer, {}});
  rows.rows[0].row.fields[static_cast<std::uint32_t>(crdt::FieldId::kRoll)] =
      crdt::testing::roll_field(kPeer, mute, 2);
  bare_.receive(gossip::encode(
      BareNode::envelope(gossip::MessageType::kRows, bare_.node().cluster()), crdt::encode(rows)));
  EXPECT_EQ(of_peer(by_number).status, ResponseStatus::kDenied);
  const Response by_itself = of_peer(by_line);
  EXPECT_EQ(by_itself.status, ResponseStatus::kOk) << by_itself.text;
  Request by_login = by_number;
  by_login.token = {};
  by_login.user = "ann";
  EXPECT_EQ(of_peer(by_login).status, ResponseStatus::kDenied);
}

}  // namespace
}  // namespace muster::agent
