// A Node that gets bytes it must not trust, and its answers without a quorum.

#include "agent/node/node.h"

#include <gtest/gtest.h>

#include "agent/api/events.h"
#include "agent/api/hosts.h"
#include "agent/api/jobs.h"
#include "agent/api/payload.h"
#include "agent/api/quorum.h"
#include "agent/api/request.h"
#include "agent/api/verbs.h"
#include "crdt/rows/codec.h"
#include "membership/codec.h"
#include "scheduler/raft/first_quorum_messages.h"
#include "scheduler/seat/seat_records.h"
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

const ClusterId kForeign = ClusterId::from_bytes("foreign_________");

std::string probe(const gossip::Envelope& envelope) {
  return gossip::encode(envelope, membership::encode(membership::Body(membership::Probe())));
}

TEST(Node, AForeignClusterIsDroppedWithOneEvent) {
  BareNode bare(0, kCluster);
  for (int i = 0; i < 5; ++i) {
    bare.receive(probe(BareNode::envelope(MessageType::kProbe, kForeign)));
  }
  EXPECT_EQ(bare.count("foreign_cluster"), 1U);
  EXPECT_EQ(bare.node().dropped_count(), 5U);
  EXPECT_EQ(bare.node().cluster(), kCluster);
}

TEST(Node, ANodeWithoutAClusterJoinsThatOfASeedItDialled) {
  BareNode bare(0, ClusterId(), {}, true);
  bare.receive_on(testing::kPeerControl, probe(BareNode::envelope(MessageType::kProbe)));
  EXPECT_EQ(bare.node().cluster(), kCluster);
  EXPECT_EQ(bare.count("joined_cluster"), 1U);
  bare.receive_on(testing::kPeerControl, probe(BareNode::envelope(MessageType::kProbe, kForeign)));
  EXPECT_EQ(bare.node().cluster(), kCluster);
}

TEST(Node, ANodeWithoutAClusterIsNotTakenInByWhoDialsIt) {
  BareNode bare(0, ClusterId(), {}, true);
  bare.receive(probe(BareNode::envelope(MessageType::kProbe, kForeign)));
  bare.receive(probe(BareNode::envelope(MessageType::kProbe, kForeign)));
  bare.receive_on(gossip::Endpoint::ipv4(10, 0, 0, 3, 7450),
                  probe(BareNode::envelope(MessageType::kProbe, kForeign)));
  EXPECT_TRUE(bare.node().cluster().is_zero());
  EXPECT_FALSE(bare.records(crdt::Environment::kId).contains("cluster"));
  EXPECT_EQ(bare.node().dropped_count(), 3U);
  EXPECT_EQ(bare.count("uninvited_cluster"), 1U);
  bare.receive_on(testing::kPeerControl, probe(BareNode::envelope(MessageType::kProbe)));
  EXPECT_EQ(bare.node().cluster(), kCluster);
}

/// In a large cluster few watch a seed: the others hear of its cluster only when they ask.
TEST(Node, ASeedThatWasMetBeforeItHadAClusterIsAskedAgain) {
  BareNode bare(0, ClusterId(), {}, true);
  crdt::Identity identity;
  identity.name = "peer";
  identity.control = testing::kPeerControl;
  identity.start_id = StartId(1);
  crdt::RowsBody rows;
  rows.rows.push_back({kPeer, {Generation(1), {}}});
  rows.rows[0].row.fields[static_cast<std::uint32_t>(crdt::FieldId::kIdentity)] = {
      {Generation(1), Sequence(1)}, crdt::encode(identity)};
  const auto say = [&](ClusterId cluster) {
    bare.receive_on(testing::kPeerControl,
                    gossip::encode(BareNode::envelope(MessageType::kRows, cluster),
                                   crdt::encode(testing::signed_rows(rows))));
  };
  const auto asks_for_its_row = [&bare] {
    for (const gossip::TransportOutput& each : bare.transport) {
      const auto* send = std::get_if<gossip::Send>(&each);
      if (send == nullptr) {
        continue;
      }
      const auto message = gossip::decode(send->bytes);
      const auto body = message.has_value() && message->envelope().type == MessageType::kRows
                            ? crdt::decode_rows(message->body())
                            : std::nullopt;
      if (body.has_value() && body->want == std::vector<HostId>{kPeer}) {
        return send->to == testing::kPeerControl;
      }
    }
    return false;
  };
  say(ClusterId());
  bare.transport.clear();
  bare.pass(1500ms);
  EXPECT_TRUE(asks_for_its_row());
  say(kCluster);
  EXPECT_EQ(bare.node().cluster(), kCluster);
  bare.transport.clear();
  bare.pass(1500ms);
  EXPECT_FALSE(asks_for_its_row());
}

/// Its row comes by another way before its own answer does.
TEST(Node, ASeedThatIsAMemberAndUpIsNotCalledUnmet) {
  BareNode bare(0, kCluster, {}, true);
  const auto unmet = [&bare] {
    const auto said = bare.ask(request(Verb::kHosts));
    return decode_payload<HostList>(said.value().payload).value().seeds_unmet.size();
  };
  EXPECT_EQ(unmet(), 1U);
  crdt::Identity identity;
  identity.name = "peer";
  identity.control = testing::kPeerControl;
  identity.start_id = StartId(1);
  crdt::RowsBody rows;
  rows.rows.push_back({kPeer, {Generation(1), {}}});
  rows.rows[0].row.fields[static_cast<std::uint32_t>(crdt::FieldId::kIdentity)] = {
      {Generation(1), Sequence(1)}, crdt::encode(identity)};
  bare.receive(gossip::encode(BareNode::envelope(MessageType::kRows),
                              crdt::encode(testing::signed_rows(rows))));
  EXPECT_EQ(unmet(), 0U);
}

/// Its news has to be checked first; the answer still takes the shortest way, which may be the only
/// one.
TEST(Node, AQuestionBesideNewsIsAnsweredOnItsConnection) {
  BareNode bare(0, kCluster);
  crdt::Identity identity;
  identity.name = "peer";
  identity.control = testing::kPeerControl;
  crdt::RowsBody rows;
  rows.rows.push_back({kPeer, {Generation(1), {}}});
  rows.rows[0].row.fields[static_cast<std::uint32_t>(crdt::FieldId::kIdentity)] = {
      {Generation(1), Sequence(1)}, crdt::encode(identity)};
  rows.want = {testing::kSelf};
  bare.transport.clear();
  bare.receive(gossip::encode(BareNode::envelope(MessageType::kRows),
                              crdt::encode(testing::signed_rows(rows))));
  EXPECT_TRUE(std::any_of(bare.transport.begin(), bare.transport.end(), [](const auto& each) {
    const auto* reply = std::get_if<gossip::Reply>(&each);
    const auto message = gossip::decode(reply == nullptr ? "" : reply->bytes);
    return reply != nullptr && reply->route == testing::kRoute && message.has_value() &&
           message->envelope().type == MessageType::kRows;
  }));
}

/// A row of another member counts by the signature of its owner; the Node reports one that fails.
TEST(Node, AForgedRowIsLeftOutAndSaid) {
  BareNode bare(0, kCluster);
  crdt::Identity identity;
  identity.name = "third";
  const HostId third = HostId::from_bytes("third___________");
  crdt::RowOf row{third, {Generation(1), {}}};
  row.row.fields[static_cast<std::uint32_t>(crdt::FieldId::kIdentity)] = {
      {Generation(1), Sequence(1)}, crdt::encode(identity)};
  crdt::RowsBody rows;
  rows.rows.push_back(crdt::testing::signed_row(row));
  rows.rows[0].row.fields.begin()->second.version.sequence = Sequence(2);
  for (int i = 0; i < 3; ++i) {
    bare.receive(gossip::encode(BareNode::envelope(MessageType::kRows), crdt::encode(rows)));
  }
  EXPECT_EQ(bare.node().store().row(third), nullptr);
  EXPECT_EQ(bare.count("row_forged"), 1U) << "one alarm for what one sender says in a row";
}

TEST(Node, AForeignMemberDoesNotKeepANodeFromFoundingItsOwnCluster) {
  BareNode bare(1);
  bare.receive(probe(BareNode::envelope(MessageType::kProbe, kForeign)));
  bare.pass(5s);
  EXPECT_TRUE(bare.node().seat().leads());
  EXPECT_FALSE(bare.node().cluster().is_zero());
  EXPECT_NE(bare.node().cluster(), kForeign);
}

TEST(Node, AForeignProtocolVersionIsDroppedWithOneEvent) {
  BareNode bare(0, kCluster);
  gossip::Envelope envelope = BareNode::envelope(MessageType::kProbe);
  envelope.version = kProtocolVersion + 1;
  bare.receive(probe(envelope));
  bare.receive(probe(envelope));
  EXPECT_EQ(bare.count("foreign_version"), 1U);
  EXPECT_EQ(bare.node().dropped_count(), 2U);
}

TEST(Node, ItsOwnIdElsewhereIsAnAlarm) {
  BareNode bare(0, kCluster);
  gossip::Envelope envelope = BareNode::envelope(MessageType::kProbe);
  envelope.from = kSelf;
  bare.receive(probe(envelope));
  EXPECT_EQ(bare.count("own_id_elsewhere"), 1U);
  EXPECT_EQ(bare.node().dropped_count(), 1U);
}

/// The row of the peer, as the peer itself says it under `start`.
std::string rows_of_peer(AgentStart start) {
  crdt::Identity identity;
  identity.name = "peer";
  identity.control = testing::kPeerControl;
  identity.bulk = testing::kPeerControl;
  identity.start_id = start.start_id;
  crdt::RowOf row{kPeer, {start.generation, {}}};
  row.row.fields[static_cast<std::uint32_t>(crdt::FieldId::kIdentity)] = {
      {start.generation, Sequence(1)}, crdt::encode(identity)};
  crdt::RowsBody rows;
  rows.rows.push_back(row);
  gossip::Envelope envelope = BareNode::envelope(MessageType::kRows);
  envelope.generation = start.generation;
  return gossip::encode(envelope, crdt::encode(testing::signed_rows(rows)));
}

TEST(Node, ALaterStartCountsOnceTheRowSaysSo) {
  BareNode bare(0, kCluster);
  bare.receive(rows_of_peer({Generation(1), StartId(5)}));
  bare.pass(1s);
  bare.transport.clear();
  gossip::Envelope forged = BareNode::envelope(MessageType::kProbe);
  forged.generation = Generation(7);
  bare.receive(probe(forged));
  const auto generation = [&bare] {
    return bare.node().membership().member(kPeer)->start.generation;
  };
  EXPECT_EQ(generation(), Generation(1));
  bare.pass(1s);
  const auto asks = [](const gossip::TransportOutput& each) {
    const auto* send = std::get_if<gossip::Send>(&each);
    const auto message =
        send == nullptr ? std::nullopt : std::optional(gossip::decode(send->bytes));
    return message.has_value() && message->has_value() &&
           (*message)->envelope().type == MessageType::kRows;
  };
  EXPECT_TRUE(std::any_of(bare.transport.begin(), bare.transport.end(), asks));
  bare.receive(rows_of_peer({Generation(7), StartId(6)}));
  EXPECT_EQ(generation(), Generation(7));
  EXPECT_EQ(bare.count("member_restarted"), 1U);
}

TEST(Node, ASenderWithoutAnIdIsDropped) {
  BareNode bare(0, kCluster);
  gossip::Envelope envelope = BareNode::envelope(MessageType::kProbe);
  envelope.from = HostId();
  bare.receive(probe(envelope));
  EXPECT_EQ(bare.node().dropped_count(), 1U);
}

TEST(Node, GarbageIsCountedAndNothingElse) {
  BareNode bare(0, kCluster);
  bare.transport.clear();
  bare.events.clear();
  Rng rng(3);
  for (int i = 0; i < 1000; ++i) {
    std::string bytes(rng.below(64), '\0');
    for (char& byte : bytes) {
      byte = static_cast<char>(rng.below(256));
    }
    bare.receive(bytes);
  }
  EXPECT_EQ(bare.node().dropped_count(), 1000U);
  EXPECT_TRUE(bare.transport.empty());
  EXPECT_TRUE(bare.events.empty());
}

TEST(Node, UnknownTypesAndUnreadableBodiesAreCounted) {
  BareNode bare(0, kCluster);
  const std::string strange = gossip::Encoder().array(1).text("strange").take();
  bare.receive(gossip::encode(BareNode::envelope(static_cast<MessageType>(200)), strange));
  bare.receive(gossip::encode(BareNode::envelope(MessageType::kAppendRequest), strange));
  bare.receive(gossip::encode(BareNode::envelope(MessageType::kAssign), strange));
  bare.receive(gossip::encode(BareNode::envelope(MessageType::kRows), strange));
  EXPECT_EQ(bare.node().dropped_count(), 4U);
}

TEST(Node, AnUnreadableRequestIsAnsweredWithUsage) {
  BareNode bare(1);
  bare.pass(5s);
  const auto answer = bare.ask_bytes(gossip::Encoder().array(1).text("?").take());
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->status, ResponseStatus::kUsage);
}

TEST(Node, AVerbWhoseNumberIsKeptFreeIsAnsweredWithUsage) {
  BareNode bare(1);
  const auto answer = bare.ask(request(static_cast<Verb>(19)));
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->status, ResponseStatus::kUsage);
}

TEST(Node, UnreadableArgumentsAreAnsweredWithUsage) {
  BareNode bare(1);
  bare.pass(5s);
  ASSERT_TRUE(bare.node().seat().leads());
  for (const Verb verb : {Verb::kSubmit, Verb::kOutput}) {
    const auto answer = bare.ask(request(verb, "garbage"));
    ASSERT_TRUE(answer.has_value());
    EXPECT_EQ(answer->status, ResponseStatus::kUsage) << answer->text;
  }
}

TEST(Node, AnUnknownJobIsNotFound) {
  BareNode bare(1);
  bare.pass(5s);
  for (const Verb verb : {Verb::kShow, Verb::kWhy, Verb::kCancel}) {
    const auto answer = bare.ask(request(verb, encode_payload(JobRef{JobId(99)})));
    ASSERT_TRUE(answer.has_value());
    EXPECT_EQ(answer->status, ResponseStatus::kNotFound) << answer->text;
  }
}

TEST(Node, AHostThatHasJustStartedLetsQuestionsWaitForALeader) {
  BareNode bare(0, kCluster);
  EXPECT_FALSE(bare.ask(request(Verb::kSubmit, submit_arguments())).has_value());
  bare.transport.clear();
  bare.pass(ClientFront::kFirstLeaderPatience);
  std::optional<Response> answer;
  for (const gossip::TransportOutput& each : bare.transport) {
    if (const auto* reply = std::get_if<gossip::Reply>(&each)) {
      answer = decode_response(gossip::decode(reply->bytes)->body());
    }
  }
  ASSERT_TRUE(answer.has_value()) << "but not for ever";
  EXPECT_EQ(answer->status, ResponseStatus::kNoQuorum) << "nobody was asked: surely not accepted";
}

TEST(Node, ASubmitWithoutAQuorumIsSurelyNotAccepted) {
  BareNode bare(0, kCluster);
  bare.pass(ClientFront::kFirstLeaderWait);
  const std::pair<Verb, std::string> asked[] = {{Verb::kSubmit, submit_arguments()},
                                                {Verb::kJobs, ""},
                                                {Verb::kCancel, encode_payload(JobRun{JobId(1)})}};
  for (const auto& [verb, arguments] : asked) {
    const auto answer = bare.ask(request(verb, arguments));
    ASSERT_TRUE(answer.has_value());
    EXPECT_EQ(answer->status, ResponseStatus::kNoQuorum);
    EXPECT_FALSE(answer->text.empty());
  }
}

TEST(Node, AVerbThatIsNoneIsNotUnderstood) {
  BareNode bare(0, kCluster);
  for (std::size_t number = 0; number < kByteValues; ++number) {
    const auto verb = static_cast<Verb>(number);
    if (find_verb(verb) == nullptr) {
      const auto answer = bare.ask(request(verb, ""));
      ASSERT_TRUE(answer.has_value()) << number;
      EXPECT_EQ(answer->status, ResponseStatus::kUsage) << number;
      EXPECT_NE(answer->text.find("does not know that request"), std::string::npos) << number;
    }
  }
}

TEST(Node, WhatItKnowsByItselfItAnswersWithoutAQuorum) {
  BareNode bare(0, kCluster);
  const auto version = bare.ask(request(Verb::kVersion));
  ASSERT_TRUE(version.has_value());
  EXPECT_EQ(decode_payload<VersionInfo>(version->payload)->host, kSelf);
  const auto hosts = bare.ask(request(Verb::kHosts));
  ASSERT_TRUE(hosts.has_value());
  EXPECT_EQ(decode_payload<HostList>(hosts->payload)->hosts.size(), 1U);
  const auto quorum = bare.ask(request(Verb::kQuorum));
  ASSERT_TRUE(quorum.has_value());
  EXPECT_EQ(decode_payload<QuorumInfo>(quorum->payload)->role, "none");
  const auto events = bare.ask(request(Verb::kEvents));
  ASSERT_TRUE(events.has_value());
  EXPECT_FALSE(decode_payload<EventsPage>(events->payload)->events.empty());
}

TEST(Node, OneAgentThatExpectsOneVoterLeadsAndAcceptsJobs) {
  BareNode bare(1);
  bare.pass(5s);
  ASSERT_TRUE(bare.node().seat().leads());
  bare.ask(request(Verb::kVersion));
  bare.transport.clear();
  const auto answer = bare.ask(request(Verb::kJobs));
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->status, ResponseStatus::kOk);
}

/// A crash between the two would leave a log that its own host no longer obeys.
TEST(Node, ARecoveryIsInTheLogBeforeAnythingElseKnowsOfIt) {
  crdt::WriteBatch formed;
  scheduler::write_formed_to({testing::kCluster, {testing::kPeer, testing::kSelf}}, formed);
  crdt::Records raft;
  for (const crdt::Write& write : formed) {
    if (write.value.has_value()) {
      raft[write.key] = *write.value;
    }
  }
  BareNode bare(0, testing::kCluster, std::move(raft));
  bare.pass(10s);
  const auto seen = bare.ask(testing::request(Verb::kRecover, encode_payload(RecoverArgs())));
  const auto info = decode_payload<RecoveryInfo>(seen->payload);
  ASSERT_TRUE(info.has_value());
  bare.written.clear();
  const auto done = bare.ask(
      testing::request(Verb::kRecover, encode_payload(RecoverArgs{true, info->term, info->last})));
  EXPECT_EQ(done->status, ResponseStatus::kOk) << done->text;
  EXPECT_EQ(bare.count("epoch_met"), 1U);
  ASSERT_GE(bare.written.size(), 2U);
  EXPECT_EQ(bare.written[0].second, crdt::Environment::kRaft);
  const auto of_id = std::find_if(bare.written.begin(), bare.written.end(), [](const auto& each) {
    return each.second == crdt::Environment::kId;
  });
  ASSERT_NE(of_id, bare.written.end());
  EXPECT_GT(of_id->first, bare.written[0].first) << "not in one output: any order is possible";
  EXPECT_TRUE(scheduler::check_seat(bare.records(crdt::Environment::kRaft), testing::kSelf));
}

TEST(Node, AnEpochThatNobodyCanHaveReachedIsNotBelieved) {
  BareNode bare(0, kCluster);
  const auto hear = [&bare](std::uint64_t counter) {
    gossip::Envelope envelope = BareNode::envelope(MessageType::kProbe);
    gossip::set_epoch(envelope, {counter, 77});
    bare.transport.clear();
    bare.receive(probe(envelope));
    return !bare.transport.empty();
  };
  EXPECT_FALSE(hear(2 + scheduler::kEpochLeapMax));
  EXPECT_FALSE(hear(2 + scheduler::kEpochLeapMax));
  EXPECT_EQ(bare.count("epoch_not_believed"), 1U) << "each is complained about once";
  EXPECT_FALSE(hear(gossip::kEpochCounterMax));
  EXPECT_EQ(bare.count("epoch_not_believed"), 2U);
  EXPECT_EQ(bare.count("epoch_met"), 0U);
  EXPECT_TRUE(hear(1 + scheduler::kEpochLeapMax));
  EXPECT_EQ(bare.count("epoch_met"), 1U);
}

/// It comes back behind the fields of the answer, where members say their epoch.
TEST(Node, WhatAClientAppendedIsNoEpoch) {
  BareNode bare(0, kCluster);
  for (const MessageType type : {MessageType::kRequest, MessageType::kResponse}) {
    gossip::Envelope envelope = BareNode::envelope(type);
    gossip::set_epoch(envelope, {2, 77});
    bare.receive(gossip::encode(envelope, encode(testing::request(Verb::kVersion))));
  }
  EXPECT_EQ(bare.count("epoch_met"), 0U);
}

TEST(Node, AProbeIsAnsweredOnTheConnectionItCameInOn) {
  BareNode bare(0, kCluster);
  bare.transport.clear();
  bare.receive(probe(BareNode::envelope(MessageType::kProbe)));
  ASSERT_FALSE(bare.transport.empty());
  const auto* reply = std::get_if<gossip::Reply>(&bare.transport.front());
  ASSERT_NE(reply, nullptr);
  const Result<gossip::Message> message = gossip::decode(reply->bytes);
  ASSERT_TRUE(message.has_value());
  EXPECT_EQ(message->envelope().type, MessageType::kAck);
  EXPECT_EQ(message->envelope().nonce, Nonce(9));
}

}  // namespace
}  // namespace muster::agent
