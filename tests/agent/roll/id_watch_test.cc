// An agent whose id lives at a second place ends; a row or a message alone does not make it.

#include "agent/roll/id_watch.h"

#include <gtest/gtest.h>

#include "crdt/rows/codec.h"
#include "membership/codec.h"
#include "tests/agent/node/bare_node.h"

namespace muster::agent {
namespace {

using namespace std::chrono_literals;  // NOLINT: literals only.
using gossip::MessageType;
using testing::BareNode;
using testing::kCluster;
using testing::kPeer;
using testing::kSelf;

const gossip::Endpoint kElsewhere = gossip::Endpoint::ipv4(10, 0, 0, 9, 7450);

class OneId : public BareNode {
 public:
  OneId() : BareNode(0, kCluster) {}

  /// A peer holds a row of this host under `start`, at `place`.
  void see_own_row(AgentStart start, const gossip::Endpoint& place) {
    see_row(kSelf, start, place, Sequence(1));
  }
  /// The peer leads, and answers its hello so.
  void be_told_to_rise(Generation to) {
    see_row(kPeer, {Generation(1), StartId(5)}, testing::kPeerControl, Sequence(1));
    crdt::QuorumView view;
    view.leader = kPeer;
    view.term = Term(1);
    crdt::RowOf row{kPeer, {Generation(1), {}}};
    row.row.fields[static_cast<std::uint32_t>(crdt::FieldId::kQuorum)] = {
        {Generation(1), Sequence(2)}, crdt::encode(view)};
    crdt::RowsBody rows;
    rows.rows.push_back(row);
    transport.clear();
    receive(gossip::encode(envelope(MessageType::kRows), crdt::encode(testing::signed_rows(rows))));
    pass(1s);
    const std::vector<Nonce> nonces = asked(testing::kPeerControl, MessageType::kHello);
    ASSERT_FALSE(nonces.empty());
    scheduler::HelloReply reply;
    reply.start_id = StartId(11);
    reply.raise_to = to;
    gossip::Envelope answer = envelope(MessageType::kHelloReply);
    answer.nonce = nonces.back();
    receive(gossip::encode(answer, scheduler::encode(scheduler::AgentMessage(reply))));
    EXPECT_EQ(count("generation_refused"), 1U);
    EXPECT_FALSE(has_exited());
  }
  void see_row(HostId host, AgentStart start, const gossip::Endpoint& place, Sequence sequence) {
    crdt::Identity identity;
    identity.name = "name";
    identity.control = place;
    identity.bulk = place;
    identity.start_id = start.start_id;
    crdt::RowOf row{host, {start.generation, {}}};
    row.row.fields[static_cast<std::uint32_t>(crdt::FieldId::kIdentity)] = {
        {start.generation, sequence}, crdt::encode(identity)};
    crdt::RowsBody rows;
    rows.rows.push_back(row);
    receive(gossip::encode(envelope(MessageType::kRows), crdt::encode(testing::signed_rows(rows))));
  }
  static std::string under_own_id(const membership::Body& body, Nonce nonce) {
    gossip::Envelope own = envelope(membership::type_of(body));
    own.from = kSelf;
    own.nonce = nonce;
    return gossip::encode(own, membership::encode(body));
  }
  /// Nonces of the probes that were sent to `place`, or back on the test's connection.
  std::vector<Nonce> asked(std::optional<gossip::Endpoint> place, MessageType type) const {
    std::vector<Nonce> nonces;
    for (const gossip::TransportOutput& each : transport) {
      const auto* send = std::get_if<gossip::Send>(&each);
      const auto* reply = std::get_if<gossip::Reply>(&each);
      if (send == nullptr && reply == nullptr) {
        continue;
      }
      const bool is_there = send != nullptr ? place == send->to : !place;
      const auto message = gossip::decode(send != nullptr ? send->bytes : reply->bytes);
      if (is_there && message.has_value() && message->envelope().type == type) {
        nonces.push_back(message->envelope().nonce);
      }
    }
    return nonces;
  }
};

TEST(IdWatch, WhoAnswersAtTheOtherPlaceIsASecondAgentAndThisOneEnds) {
  for (const AgentStart start :
       {AgentStart{Generation(1), StartId(99)}, AgentStart{Generation(2), StartId(99)}}) {
    OneId bare;
    bare.see_own_row(start, kElsewhere);
    const std::vector<Nonce> nonces = bare.asked(kElsewhere, MessageType::kProbe);
    ASSERT_EQ(nonces.size(), 1U);
    bare.receive_on(kElsewhere, OneId::under_own_id(membership::Ack(), nonces[0]));
    EXPECT_EQ(bare.count("host_id_doubled"), 1U);
    EXPECT_FALSE(bare.has_exited()) << "the other one is answered for a while";
    bare.pass(3s);
    EXPECT_TRUE(bare.has_exited());
  }
}

TEST(IdWatch, ALaterLifeThatNobodyAnswersForIsRaisedAbove) {
  OneId bare;
  bare.see_own_row({Generation(4), StartId(99)}, kElsewhere);
  EXPECT_FALSE(bare.has_exited());
  bare.pass(kIdAnswerWait);
  EXPECT_TRUE(bare.has_exited());
  EXPECT_EQ(bare.count("host_id_doubled"), 0U);
  EXPECT_EQ(bare.asked(kElsewhere, MessageType::kProbe).size(), 4U);
}

// A leader may tell of the other life sooner than the rows do: to rise at once would leave the two
// to overtake each other.
TEST(IdWatch, OnALeadersWordItRisesOnlyAfterTheRowOfTheOtherMayHaveCome) {
  OneId lone;
  lone.be_told_to_rise(Generation(4));
  lone.pass(kIdAnswerWait - 1ms);
  EXPECT_FALSE(lone.has_exited());
  lone.pass(1ms);
  EXPECT_TRUE(lone.has_exited());
  EXPECT_EQ(lone.count("host_id_doubled"), 0U);

  OneId doubled;
  doubled.be_told_to_rise(Generation(4));
  doubled.pass(kIdAnswerWait - 1ms);
  doubled.see_own_row({Generation(3), StartId(99)}, kElsewhere);
  const std::vector<Nonce> nonces = doubled.asked(kElsewhere, MessageType::kProbe);
  ASSERT_EQ(nonces.size(), 1U);
  doubled.pass(100ms);
  EXPECT_FALSE(doubled.has_exited());
  doubled.receive_on(kElsewhere, OneId::under_own_id(membership::Ack(), nonces[0]));
  EXPECT_EQ(doubled.count("host_id_doubled"), 1U);

  OneId restored;
  restored.be_told_to_rise(Generation(4));
  restored.see_own_row({Generation(3), StartId(99)}, testing::kSelfControl);
  EXPECT_TRUE(restored.has_exited()) << "that life was here";
}

TEST(IdWatch, ALifeAtTheSamePlaceIsNotAskedFor) {
  OneId bare;
  bare.see_own_row({Generation(4), StartId(99)}, testing::kSelfControl);
  EXPECT_TRUE(bare.has_exited()) << "restored: it starts again at once, above";
  EXPECT_EQ(bare.count("host_id_doubled"), 0U);
}

TEST(IdWatch, AnEarlierLifeIsNoSecondAgent) {
  OneId bare;
  bare.see_own_row({Generation(0), StartId(99)}, kElsewhere);
  bare.pass(10s);
  EXPECT_TRUE(bare.asked(kElsewhere, MessageType::kProbe).empty());
  EXPECT_FALSE(bare.has_exited());
}

TEST(IdWatch, AMessageUnderTheOwnIdIsAnsweredAndAskedBackAndProvesNothing) {
  OneId bare;
  bare.transport.clear();
  for (int i = 0; i < 20; ++i) {
    bare.receive(OneId::under_own_id(membership::Probe(), Nonce(1000)));
    bare.receive(OneId::under_own_id(membership::Ack(), Nonce(2000)));
  }
  EXPECT_EQ(bare.asked(std::nullopt, MessageType::kAck).size(), 20U);
  const std::vector<Nonce> nonces = bare.asked(std::nullopt, MessageType::kProbe);
  ASSERT_EQ(nonces.size(), 1U);
  bare.receive(OneId::under_own_id(membership::Probe(), nonces[0]));
  bare.pass(10s);
  EXPECT_FALSE(bare.has_exited()) << "its own probe, come back";
  EXPECT_EQ(bare.count("host_id_doubled"), 0U);
  bare.receive(OneId::under_own_id(membership::Ack(), nonces[0]));
  EXPECT_EQ(bare.count("host_id_doubled"), 0U) << "too late to prove anything";
}

TEST(IdWatch, APeerThatLivesTwiceGetsNoWorkUntilItsNextStart) {
  OneId bare;
  const auto is_doubled = [&bare] { return bare.node().membership().member(kPeer)->doubled; };
  bare.see_row(kPeer, {Generation(1), StartId(5)}, testing::kPeerControl, Sequence(1));
  EXPECT_FALSE(is_doubled());
  bare.see_row(kPeer, {Generation(1), StartId(6)}, kElsewhere, Sequence(2));
  EXPECT_TRUE(is_doubled());
  EXPECT_EQ(bare.count("host_id_doubled"), 1U);
  Request asked;
  asked.verb = Verb::kHosts;
  const auto hosts = bare.ask(asked);
  ASSERT_TRUE(hosts.has_value());
  EXPECT_NE(hosts->payload.find("doubled"), std::string::npos);
  bare.see_row(kPeer, {Generation(2), StartId(7)}, testing::kPeerControl, Sequence(1));
  EXPECT_FALSE(is_doubled());
}

TEST(IdWatch, WhoAnswersOnItsOwnConnectionIsASecondAgent) {
  OneId bare;
  bare.transport.clear();
  bare.receive(OneId::under_own_id(membership::Probe(), Nonce(1000)));
  const std::vector<Nonce> nonces = bare.asked(std::nullopt, MessageType::kProbe);
  ASSERT_EQ(nonces.size(), 1U);
  bare.receive(OneId::under_own_id(membership::Ack(), nonces[0]));
  EXPECT_EQ(bare.count("host_id_doubled"), 1U);
  bare.pass(3s);
  EXPECT_TRUE(bare.has_exited());
}

}  // namespace
}  // namespace muster::agent
