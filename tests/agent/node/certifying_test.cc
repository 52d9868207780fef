// Certificates of HTTPS: members get them for their own names, on their own links, from hosts that
// have the secret of the cluster authority.

#include "agent/node/certifying.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "agent/api/payload.h"
#include "crdt/rows/codec.h"
#include "tests/agent/node/bare_node.h"

namespace muster::agent {
namespace {

using namespace std::chrono_literals;  // NOLINT: literals only.
using gossip::MessageType;
using testing::BareNode;
using testing::kCluster;
using testing::kPeer;
using testing::kSelf;

const HostId kThirdHost = HostId::from_bytes("third___________");

/// The wish of an agent.
const CertifyArgs kWish{"key",
                        {"localhost", "peer", "peer.example.com", "peer.example.org",
                         "peer.x.example.com", "peerless", "self", "example.com"},
                        {"127.0.0.1", "::1", "10.0.0.2", "10.0.0.9", "10.0.0.1"}};

Request certify() {
  Request asked;
  asked.verb = Verb::kCertify;
  asked.arguments = encode_payload(kWish);
  return asked;
}

class CertifyingTest : public ::testing::Test {
 protected:
  static NodeOptions options(bool has_secret = true) {
    NodeOptions options = BareNode::options_of(0);
    if (!has_secret) {
      options.credentials.authority_signer = nullptr;
      options.credentials.authority_secret.clear();
    }
    return options;
  }
  /// A member of kCluster that knows the peer, which votes alone.
  static void meet(BareNode& bare, HostId host = kPeer, const std::string& name = "peer") {
    crdt::Identity identity;
    identity.name = name;
    identity.control =
        host == kPeer ? testing::kPeerControl : gossip::Endpoint::ipv4(10, 0, 0, 3, 7450);
    identity.bulk = identity.control;
    identity.start_id = StartId(1);
    crdt::QuorumView quorum;
    quorum.term = Term(1);
    quorum.leader = kPeer;
    quorum.voters = {kPeer};
    crdt::RowOf row{host, {Generation(1), {}}};
    const auto put = [&row](crdt::FieldId field, std::string bytes) {
      row.row.fields[static_cast<std::uint32_t>(field)] = {
          {Generation(1), Sequence(row.row.fields.size() + 1)}, std::move(bytes)};
    };
    put(crdt::FieldId::kIdentity, crdt::encode(identity));
    put(crdt::FieldId::kObservers, crdt::encode_observers({kSelf}));
    put(crdt::FieldId::kQuorum, crdt::encode(quorum));
    crdt::RowsBody rows;
    rows.rows.push_back(row);
    bare.receive(gossip::encode(BareNode::envelope(MessageType::kRows),
                                crdt::encode(testing::signed_rows(rows))));
  }
  static std::optional<Response> ask_as_agent(BareNode& bare, const Request& request,
                                              HostId host = kPeer) {
    return bare.ask_as({gossip::Sender::Kind::kHost, host}, encode(request));
  }
  static std::string secret() { return std::string(crdt::testing::kAuthority.bytes()); }
  /// The requests that the node sent, and their envelopes.
  static std::vector<gossip::Message> requests_of(const BareNode& bare) {
    std::vector<gossip::Message> found;
    for (const gossip::TransportOutput& each : bare.transport) {
      const auto* send = std::get_if<gossip::Send>(&each);
      auto message =
          send == nullptr ? Result<gossip::Message>(Error{}) : gossip::decode(send->bytes);
      if (message && message->envelope().type == MessageType::kRequest) {
        found.push_back(*std::move(message));
      }
    }
    return found;
  }
};

TEST_F(CertifyingTest, AMemberGetsItsOwnNamesAndNoOthers) {
  BareNode bare(options(), kCluster);
  meet(bare);
  const auto answer = ask_as_agent(bare, certify());
  ASSERT_TRUE(answer.has_value());
  ASSERT_EQ(answer->status, ResponseStatus::kOk) << answer->text;
  const auto certified = decode_payload<CertifiedInfo>(answer->payload);
  ASSERT_TRUE(certified.has_value());
  EXPECT_EQ(certified->certificates,
            "key by " + secret() + " localhost peer peer.example.com 127.0.0.1 ::1 10.0.0.2");
  EXPECT_EQ(certified->root, "root of " + kCluster.short_hex() + " by " + secret());
  EXPECT_EQ(certified->authority, 1U);
}

TEST_F(CertifyingTest, ANameThatTwoMembersClaimIsGivenToNeither) {
  BareNode bare(options(), kCluster);
  meet(bare);
  bare.vouch({kThirdHost});
  meet(bare, kThirdHost, "peer");
  const auto answer = ask_as_agent(bare, certify());
  ASSERT_TRUE(answer.has_value());
  const auto certified = decode_payload<CertifiedInfo>(answer->payload);
  ASSERT_TRUE(certified.has_value()) << answer->text;
  EXPECT_EQ(certified->certificates, "key by " + secret() + " localhost 127.0.0.1 ::1 10.0.0.2");
}

TEST_F(CertifyingTest, AHostThatCallsItselfAsTheVoterGetsNoName) {
  BareNode bare(options(), kCluster);
  meet(bare, kPeer, "self");
  const auto answer = ask_as_agent(bare, certify());
  ASSERT_TRUE(answer.has_value());
  const auto certified = decode_payload<CertifiedInfo>(answer->payload);
  ASSERT_TRUE(certified.has_value()) << answer->text;
  EXPECT_EQ(certified->certificates, "key by " + secret() + " localhost 127.0.0.1 ::1 10.0.0.2");
}

TEST_F(CertifyingTest, NoLoginGetsOneWhateverItSays) {
  BareNode bare(options(), kCluster);
  meet(bare);
  Request asked = certify();
  asked.user = "root";
  const auto of_login = bare.ask(asked);
  ASSERT_TRUE(of_login.has_value());
  EXPECT_EQ(of_login->status, ResponseStatus::kDenied) << of_login->text;
  const auto nameless = bare.ask(certify());
  ASSERT_TRUE(nameless.has_value());
  EXPECT_EQ(nameless->status, ResponseStatus::kDenied);
  // A host passes it on for a login.
  asked.via = "peer";
  const auto passed_on = ask_as_agent(bare, asked);
  ASSERT_TRUE(passed_on.has_value());
  EXPECT_EQ(passed_on->status, ResponseStatus::kDenied);
  asked.user.clear();
  const auto of_nobody = ask_as_agent(bare, asked);
  ASSERT_TRUE(of_nobody.has_value());
  EXPECT_EQ(of_nobody->status, ResponseStatus::kDenied);
}

TEST_F(CertifyingTest, AHostGetsOneAMinute) {
  BareNode bare(options(), kCluster);
  meet(bare);
  EXPECT_EQ(ask_as_agent(bare, certify())->status, ResponseStatus::kOk);
  EXPECT_EQ(ask_as_agent(bare, certify())->status, ResponseStatus::kNoQuorum);
}

TEST(CertifyPace, CountsEachHostAndAllOfThem) {
  CertifyPace pace;
  const Instant start{1000s};
  const auto host = [](std::size_t i) {
    std::string bytes(16, '\0');
    bytes[0] = static_cast<char>(i >> 8U);
    bytes[1] = static_cast<char>(i & 255U);
    bytes[2] = 'h';
    return HostId::from_bytes(bytes);
  };
  for (std::size_t i = 0; i < CertifyPace::kAtOnce; ++i) {
    EXPECT_TRUE(pace.takes(start, host(i)));
    EXPECT_FALSE(pace.takes(start, host(i)));
  }
  EXPECT_FALSE(pace.takes(start + 59s, host(CertifyPace::kAtOnce)));
  EXPECT_TRUE(pace.takes(start + CertifyPace::kPeriod, host(CertifyPace::kAtOnce)));
  EXPECT_TRUE(pace.takes(start + CertifyPace::kPeriod, host(0)));
}

TEST_F(CertifyingTest, AHostWithTheSecretCertifiesItself) {
  BareNode bare(options(), kCluster);
  bare.feed(CertificateWanted{kWish});
  ASSERT_EQ(bare.certificates.size(), 1U);
  EXPECT_EQ(bare.certificates[0].why_not, "");
  EXPECT_EQ(bare.certificates[0].certified.certificates,
            "key by " + secret() + " localhost self 127.0.0.1 ::1 10.0.0.1");
  EXPECT_TRUE(requests_of(bare).empty());
}

TEST_F(CertifyingTest, AnotherHostAsksAVoterAndRemembersTheRoot) {
  BareNode bare(options(false), kCluster);
  bare.feed(CertificateWanted{kWish});
  EXPECT_TRUE(requests_of(bare).empty()) << "it knows no voter";
  meet(bare);
  bare.transport.clear();
  bare.feed(CertificateWanted{kWish});
  const auto asked = requests_of(bare);
  ASSERT_EQ(asked.size(), 1U);
  const auto request = decode_request(asked[0].body());
  ASSERT_TRUE(request.has_value());
  EXPECT_EQ(*request, certify());
  EXPECT_EQ(bare.ask(testing::request(Verb::kHttpRoot))->status, ResponseStatus::kNotFound);
  gossip::Envelope envelope = BareNode::envelope(MessageType::kResponse);
  envelope.nonce = asked[0].envelope().nonce;
  Response answer;
  answer.payload = encode_payload(CertifiedInfo{"certificate", "root", 1});
  bare.receive(gossip::encode(envelope, encode(answer)));
  ASSERT_EQ(bare.certificates.size(), 1U);
  EXPECT_EQ(bare.certificates[0].certified.certificates, "certificate");
  const auto root =
      decode_payload<HttpRootInfo>(bare.ask(testing::request(Verb::kHttpRoot))->payload);
  ASSERT_TRUE(root.has_value());
  EXPECT_EQ(*root, (HttpRootInfo{"root", "print of root"}));
  bare.receive(gossip::encode(envelope, encode(answer)));
  EXPECT_EQ(bare.certificates.size(), 1U) << "an answer counts once";
}

TEST_F(CertifyingTest, ARefusalGoesToTheEdge) {
  BareNode bare(options(false), kCluster);
  meet(bare);
  bare.feed(CertificateWanted{kWish});
  gossip::Envelope envelope = BareNode::envelope(MessageType::kResponse);
  envelope.nonce = requests_of(bare).at(0).envelope().nonce;
  Response refusal;
  refusal.status = ResponseStatus::kNoQuorum;
  refusal.text = "later";
  bare.receive(gossip::encode(envelope, encode(refusal)));
  ASSERT_EQ(bare.certificates.size(), 1U);
  EXPECT_EQ(bare.certificates[0].why_not, "later");
}

TEST_F(CertifyingTest, AHostWithTheSecretTellsTheRoot) {
  BareNode bare(options(), kCluster);
  const auto answer = bare.ask(testing::request(Verb::kHttpRoot));
  ASSERT_TRUE(answer.has_value());
  const auto root = decode_payload<HttpRootInfo>(answer->payload);
  ASSERT_TRUE(root.has_value()) << answer->text;
  EXPECT_EQ(root->root, "root of " + kCluster.short_hex() + " by " + secret());
}

}  // namespace
}  // namespace muster::agent
