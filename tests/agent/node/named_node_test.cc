// A client names the node that shall answer: the node that he asked passes it on there, once.

#include <gtest/gtest.h>

#include "agent/api/jobs.h"
#include "agent/api/payload.h"
#include "agent/api/request.h"
#include "tests/agent/node/bare_node.h"

namespace muster::agent {
namespace {

using namespace std::chrono_literals;  // NOLINT: literals only.
using gossip::MessageType;
using testing::BareNode;
using testing::kCluster;
using testing::kPeer;
using testing::kSelf;
using testing::request;
using testing::submit_arguments;

Request named(const std::string& node, Verb verb, std::string arguments = "") {
  Request asked = request(verb, std::move(arguments));
  asked.node = node;
  return asked;
}

/// A member that knows one other host, "peer", which leads.
class Member : public BareNode {
 public:
  Member() : BareNode(0, kCluster) {
    crdt::Identity identity;
    identity.name = "peer";
    identity.control = testing::kPeerControl;
    identity.bulk = testing::kPeerControl;
    identity.start_id = StartId(1);
    crdt::QuorumView quorum;
    quorum.term = Term(1);
    quorum.leader = kPeer;
    quorum.voters = {kPeer};
    crdt::RowsBody rows;
    rows.rows.push_back({kPeer, {Generation(1), {}}});
    const auto put = [&](crdt::FieldId field, std::string bytes) {
      auto& fields = rows.rows.back().row.fields;
      fields[static_cast<std::uint32_t>(field)] = {{Generation(1), Sequence(fields.size() + 1)},
                                                   std::move(bytes)};
    };
    put(crdt::FieldId::kIdentity, crdt::encode(identity));
    put(crdt::FieldId::kObservers, crdt::encode_observers({kSelf}));
    put(crdt::FieldId::kQuorum, crdt::encode(quorum));
    receive(gossip::encode(envelope(MessageType::kRows), crdt::encode(testing::signed_rows(rows))));
    transport.clear();
  }
  /// As the peer passes it on.
  void receive_from_peer(const Request& asked) {
    transport.clear();
    receive(gossip::encode(envelope(MessageType::kRequest), encode(asked)));
  }
  /// The message of this type that went to the peer, if one did.
  std::optional<gossip::Message> sent(MessageType type) const {
    for (const gossip::TransportOutput& each : transport) {
      const auto* send = std::get_if<gossip::Send>(&each);
      const auto* reply = std::get_if<gossip::Reply>(&each);
      auto message = gossip::decode(send != nullptr    ? send->bytes
                                    : reply != nullptr ? reply->bytes
                                                       : "");
      if (message.has_value() && message->envelope().type == type) {
        return std::move(message).value();
      }
    }
    return std::nullopt;
  }
};

TEST(NamedNode, IsAskedByTheNodeThatTheClientAsked) {
  Member bare;
  Request asked = named("peer", Verb::kEvents);
  asked.user = "ann";
  EXPECT_FALSE(bare.ask(asked).has_value());
  const auto passed_on = bare.sent(MessageType::kRequest);
  ASSERT_TRUE(passed_on.has_value());
  const auto heard = decode_request(passed_on->body());
  EXPECT_EQ(heard->node, "peer");
  EXPECT_EQ(heard->user, "ann");
  EXPECT_EQ(heard->via, "self");

  Response word;
  word.answered_by = "peer";
  gossip::Envelope envelope = BareNode::envelope(MessageType::kResponse);
  envelope.nonce = passed_on->envelope().nonce;
  bare.transport.clear();
  bare.receive(gossip::encode(envelope, encode(word)));
  const auto answer = bare.sent(MessageType::kResponse);
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->envelope().nonce, Nonce(4)) << "the client's own";
  EXPECT_EQ(decode_response(answer->body())->answered_by, "peer");
}

TEST(NamedNode, MayBeTheOneAsked) {
  Member bare;
  const auto answer = bare.ask(named("self", Verb::kVersion));
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->status, ResponseStatus::kOk);
  EXPECT_EQ(answer->answered_by, "self");
}

TEST(NamedNode, IsWhoseNameNobodyBears) {
  Member bare;
  const auto answer = bare.ask(named("pear", Verb::kVersion));
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->status, ResponseStatus::kNotFound);
  EXPECT_EQ(answer->text, "there is no host 'pear'; `muster hosts` lists them");
}

TEST(NamedNode, ThatIsOutOfReachSurelyDidNothing) {
  Member bare;
  bare.pass(30s);
  const auto answer = bare.ask(named("peer", Verb::kSubmit, submit_arguments()));
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->status, ResponseStatus::kNoQuorum);
  EXPECT_EQ(answer->answered_by, "self");
}

TEST(NamedNode, TakesTheQuestionForItsOwnClients) {
  Member bare;
  bare.receive_from_peer(named("self", Verb::kSubmit, submit_arguments()));
  const auto passed_on = bare.sent(MessageType::kRequest);
  ASSERT_TRUE(passed_on.has_value()) << "to whoever leads";
  EXPECT_EQ(decode_request(passed_on->body())->node, "");
}

TEST(NamedNode, PassesNothingOnToAThird) {
  Member bare;
  for (const char* name : {"peer", "third"}) {
    bare.receive_from_peer(named(name, Verb::kVersion));
    EXPECT_FALSE(bare.sent(MessageType::kRequest).has_value());
    const auto answer = bare.sent(MessageType::kResponse);
    ASSERT_TRUE(answer.has_value());
    EXPECT_EQ(decode_response(answer->body())->status, ResponseStatus::kNotFound) << name;
  }
}

}  // namespace
}  // namespace muster::agent
