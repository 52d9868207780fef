// A Node at the service of clients, beside its own answers: it passes their questions on, to the
// leader and to the next one, leaves when it may, and says how old its answer is.

#include <gtest/gtest.h>

#include "agent/api/hosts.h"
#include "agent/api/jobs.h"
#include "agent/api/payload.h"
#include "agent/api/quorum.h"
#include "agent/api/request.h"
#include "agent/node/node.h"
#include "crdt/rows/codec.h"
#include "membership/codec.h"
#include "tests/agent/node/bare_node.h"

namespace muster::agent {
namespace {

using namespace std::chrono_literals;  // NOLINT: literals only.
using gossip::MessageType;
using testing::BareNode;
using testing::kAdmin;
using testing::kCluster;
using testing::kPeer;
using testing::kSelf;
using testing::request;
using testing::submit_arguments;

const HostId kThird = HostId::from_bytes("third___________");

/// A member that knows its leader, the peer, and passes requests on to it. Of the third host it
/// knows when there is one.
class Forwarding : public testing::BareNode {
 public:
  /// `users`: the version of the list of users that the leader names.
  explicit Forwarding(std::vector<HostId> voters = {kPeer}, bool has_third = false,
                      std::uint64_t users = 0)
      : BareNode(0, kCluster), users_(users) {
    hear_of(kPeer, "peer", testing::kPeerControl, voters);
    if (has_third) {
      hear_of(kThird, "third", gossip::Endpoint::ipv4(10, 0, 0, 3, 7450), voters);
    }
  }
  void hear_of(HostId host, const std::string& name, const gossip::Endpoint& control,
               const std::vector<HostId>& voters) {
    crdt::Identity identity;
    identity.name = name;
    identity.control = control;
    identity.bulk = control;
    identity.start_id = StartId(1);
    crdt::QuorumView quorum;
    quorum.term = Term(1);
    quorum.leader = kPeer;
    quorum.voters = voters;
    quorum.users = users_;
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
    receive(gossip::encode(envelope(MessageType::kRows), crdt::encode(testing::signed_rows(rows))));
  }
  /// The third host says that it leads now.
  void third_leads() {
    crdt::QuorumView quorum;
    quorum.term = Term(2);
    quorum.leader = kThird;
    quorum.voters = {kPeer, kThird};
    crdt::RowOf row{kThird, {Generation(1), {}}};
    row.row.fields[static_cast<std::uint32_t>(crdt::FieldId::kQuorum)] = {
        {Generation(1), Sequence(9)}, crdt::encode(quorum)};
    crdt::RowsBody rows;
    rows.rows.push_back(row);
    receive(gossip::encode(envelope(MessageType::kRows), crdt::encode(testing::signed_rows(rows))));
  }
  /// The hosts' addresses that requests were passed on to since, and the last one's number.
  std::vector<gossip::Endpoint> passed_on_to() {
    std::vector<gossip::Endpoint> peers;
    for (const gossip::TransportOutput& each : transport) {
      const auto* send = std::get_if<gossip::Send>(&each);
      const auto message =
          send == nullptr ? std::nullopt : std::optional(gossip::decode(send->bytes));
      if (message.has_value() && message->has_value() &&
          (*message)->envelope().type == MessageType::kRequest) {
        peers.push_back(send->to);
        number = (*message)->envelope().nonce;
      }
    }
    return peers;
  }
  Nonce number;
  /// The answers to clients since.
  std::vector<ResponseStatus> answers() const {
    std::vector<ResponseStatus> statuses;
    for (const gossip::TransportOutput& each : transport) {
      const auto* reply = std::get_if<gossip::Reply>(&each);
      const auto message =
          reply == nullptr ? std::nullopt : std::optional(gossip::decode(reply->bytes));
      if (message.has_value() && message->has_value() &&
          (*message)->envelope().type == MessageType::kResponse) {
        statuses.push_back(decode_response((*message)->body())->status);
      }
    }
    return statuses;
  }

 private:
  std::uint64_t users_;
};

TEST(Node, WhyIsAskedOfTheLeader) {
  Forwarding bare({kThird, kPeer}, true);
  const std::string job = encode_payload(JobRef{JobId(1)});
  EXPECT_FALSE(bare.ask(request(Verb::kWhy, job)).has_value());
  EXPECT_EQ(bare.passed_on_to(), std::vector<gossip::Endpoint>{testing::kPeerControl});
  bare.transport.clear();
  bare.third_leads();
  EXPECT_EQ(bare.passed_on_to(),
            std::vector<gossip::Endpoint>{gossip::Endpoint::ipv4(10, 0, 0, 3, 7450)})
      << "and of the next one";
}

TEST(Node, APassedOnRequestEndsWithTheConnectionItWentOutOn) {
  Forwarding bare;
  EXPECT_FALSE(bare.ask(request(Verb::kSubmit, submit_arguments())).has_value());
  EXPECT_FALSE(bare.ask(request(Verb::kJobs)).has_value());
  bare.transport.clear();
  bare.feed(gossip::LinkDown{gossip::Endpoint::ipv4(10, 0, 0, 9, 7450), gossip::LinkLoss::kReset});
  EXPECT_TRUE(bare.answers().empty());
  bare.feed(gossip::LinkDown{testing::kPeerControl, gossip::LinkLoss::kReset});
  std::vector<ResponseStatus> statuses = bare.answers();
  std::sort(statuses.begin(), statuses.end());
  EXPECT_EQ(statuses,
            (std::vector<ResponseStatus>{ResponseStatus::kNoQuorum, ResponseStatus::kUnknown}));
}

TEST(Node, APassedOnRequestEndsWithTheVerdictAboutItsHost) {
  Forwarding bare;
  EXPECT_FALSE(bare.ask(request(Verb::kSubmit, submit_arguments())).has_value());
  bare.transport.clear();
  bare.pass(ClientDesk::kForwardTimeout - 100ms);
  EXPECT_EQ(bare.count("unreachable"), 1U);
  EXPECT_EQ(bare.answers(), std::vector<ResponseStatus>{ResponseStatus::kUnknown});
}

TEST(Node, APassedOnSubmitGoesOnToTheNextLeader) {
  Forwarding bare({kPeer, kThird}, true);
  EXPECT_FALSE(bare.ask(request(Verb::kSubmit, submit_arguments())).has_value());
  EXPECT_FALSE(bare.ask(request(Verb::kCancel, encode_payload(JobRef{JobId(1)}))).has_value());
  bare.transport.clear();
  bare.third_leads();
  const gossip::Endpoint third = gossip::Endpoint::ipv4(10, 0, 0, 3, 7450);
  EXPECT_EQ(bare.passed_on_to(), std::vector<gossip::Endpoint>{third}) << "the submit alone";
  EXPECT_TRUE(bare.answers().empty());
  bare.transport.clear();
  Response refusal;
  refusal.status = ResponseStatus::kNoQuorum;
  gossip::Envelope envelope = BareNode::envelope(MessageType::kResponse);
  envelope.nonce = bare.number;
  bare.receive(gossip::encode(envelope, encode(refusal)));
  EXPECT_EQ(bare.answers(), std::vector<ResponseStatus>{ResponseStatus::kUnknown})
      << "the first leader may have accepted it";
}

TEST(Node, ALeaderThatSpeaksIsAskedWhateverTheVerdict) {
  Forwarding bare({kPeer, kThird}, true);
  bare.pass(10s);
  const Request submit = request(Verb::kSubmit, submit_arguments());
  EXPECT_EQ(bare.ask(submit)->status, ResponseStatus::kNoQuorum);
  gossip::Envelope envelope = BareNode::envelope(MessageType::kFinishAck);
  const scheduler::AgentMessage word = scheduler::FinishAck{Token{1, 1}};
  bare.receive(gossip::encode(envelope, scheduler::encode(word)));
  EXPECT_FALSE(bare.ask(submit).has_value());
  EXPECT_EQ(bare.passed_on_to(), std::vector<gossip::Endpoint>{testing::kPeerControl});
  bare.pass(1100ms);
  EXPECT_EQ(bare.ask(submit)->status, ResponseStatus::kNoQuorum) << "not heard lately";
}

TEST(Node, AQuestionWaitsForTheFirstWordOfTheNextLeader) {
  Forwarding bare({kPeer, kThird}, true);
  bare.pass(10s);
  bare.receive(gossip::encode(
      BareNode::envelope(MessageType::kFinishAck),
      scheduler::encode(scheduler::AgentMessage(scheduler::FinishAck{Token{1, 1}}))));
  EXPECT_FALSE(bare.ask(request(Verb::kSubmit, submit_arguments())).has_value());
  bare.transport.clear();
  bare.third_leads();
  EXPECT_TRUE(bare.passed_on_to().empty());
  EXPECT_TRUE(bare.answers().empty());
  gossip::Envelope envelope = BareNode::envelope(MessageType::kFinishAck);
  envelope.from = kThird;
  const scheduler::AgentMessage word = scheduler::FinishAck{Token{1, 1}};
  bare.receive(gossip::encode(envelope, scheduler::encode(word)));
  EXPECT_EQ(bare.passed_on_to().size(), 1U) << "at its first word";
}

std::optional<Response> leave(Forwarding& bare, bool force = false) {
  return bare.ask(request(Verb::kLeave, encode_payload(LeaveArgs{force})));
}

TEST(Node, AVoterThatIsNeededDoesNotLeaveUnforced) {
  Forwarding bare({kSelf, kPeer, kThird});
  const auto refused = leave(bare);
  ASSERT_TRUE(refused.has_value());
  EXPECT_EQ(refused->status, ResponseStatus::kConflict) << refused->text;
  EXPECT_NE(refused->text.find("1 of 3 voters"), std::string::npos) << refused->text;
  bare.pass(5s);
  EXPECT_FALSE(bare.has_exited());
  EXPECT_EQ(leave(bare, true)->status, ResponseStatus::kOk);
  bare.pass(3s);
  EXPECT_TRUE(bare.has_exited());
}

TEST(Node, AVoterThatLeavesSaysWhatRemains) {
  Forwarding bare({kSelf, kPeer, kThird}, true);
  const auto answer = leave(bare);
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->status, ResponseStatus::kOk) << answer->text;
  EXPECT_NE(answer->text.find("2 of 3 voters remain"), std::string::npos) << answer->text;
}

TEST(Node, WhoIsNoVoterLeavesWithoutAWord) {
  Forwarding bare;
  EXPECT_EQ(leave(bare)->text, "");
}

TEST(Node, AHostLeavesByItsOwnAgentAlone) {
  Forwarding bare;
  Request asked = request(Verb::kLeave, encode_payload(LeaveArgs()));
  asked.target = kPeer;
  const auto refused = bare.ask(asked);
  ASSERT_TRUE(refused.has_value());
  EXPECT_EQ(refused->status, ResponseStatus::kUsage) << refused->text;
  bare.pass(5s);
  EXPECT_FALSE(bare.has_exited());
}

TEST(Node, WhatItCountedIsAskedOfItsLoop) {
  Forwarding bare;
  bare.stats.counters = {{"received.rows", 2, 30, 4}};
  const auto answer = bare.ask(request(Verb::kStats));
  ASSERT_TRUE(answer.has_value());
  const auto told = decode_payload<StatsInfo>(answer->payload);
  ASSERT_TRUE(told.has_value());
  ASSERT_EQ(told->counters.size(), 1U);
  EXPECT_EQ(told->counters.front().cpu_us, 4U);
}

TEST(Node, TheQuorumToleratesWhatItsLiveVotersDo) {
  Forwarding bare({kSelf, kThird, HostId::from_bytes("fourth__________")});
  const auto answer = bare.ask(request(Verb::kQuorum));
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(decode_payload<QuorumInfo>(answer->payload)->tolerates, 0U);
}

TEST(Node, LeavingEndsWhenThePeersHaveTheGoodbye) {
  Forwarding bare;
  leave(bare);
  bare.pass(150ms);
  EXPECT_FALSE(bare.has_exited());
  crdt::RowsBody rows;
  rows.rows.push_back({kSelf, *bare.node().store().row(kSelf)});
  bare.receive(gossip::encode(BareNode::envelope(MessageType::kRows),
                              crdt::encode(testing::signed_rows(rows))));
  bare.pass(150ms);
  EXPECT_TRUE(bare.has_exited());
}

TEST(Node, LeavingEndsInAnyCase) {
  Forwarding bare;
  leave(bare);
  bare.pass(1900ms);
  EXPECT_FALSE(bare.has_exited());
  bare.pass(200ms);
  EXPECT_TRUE(bare.has_exited());
}

TEST(Node, TheDeadlinesForPeopleNameAllThatItWaitsFor) {
  Forwarding bare;
  leave(bare);
  const std::string text = bare.node().deadlines_text();
  EXPECT_NE(text.find(" goodbye=100000000 "), std::string::npos) << text;
  EXPECT_NE(text.find(" disk=never "), std::string::npos) << text;
}

/// The request that was passed on to the peer.
std::optional<Request> passed_on(const Forwarding& bare) {
  for (const gossip::TransportOutput& each : bare.transport) {
    const auto* sent = std::get_if<gossip::Send>(&each);
    const auto message =
        sent == nullptr ? std::nullopt : std::optional(gossip::decode(sent->bytes));
    if (message.has_value() && message->has_value() &&
        (*message)->envelope().type == MessageType::kRequest) {
      return decode_request((*message)->body());
    }
  }
  return std::nullopt;
}

TEST(Node, APassedOnRequestSaysWhoAskedAndWhere) {
  Forwarding bare;
  Request asked = request(Verb::kCancel, encode_payload(JobRef{JobId(1)}));
  asked.user = "ann";
  asked.via = "somewhere else";
  EXPECT_FALSE(bare.ask(asked).has_value());
  const auto sent = passed_on(bare);
  ASSERT_TRUE(sent.has_value());
  EXPECT_EQ(sent->user, "ann");
  EXPECT_EQ(sent->via, "self");
}

TEST(Node, ACopyOfAPassedOnOrderIsNotObeyedOnceMore) {
  BareNode bare(1, ClusterId(), {}, false, {"H100", {{"GPU-1", true}}, 8, 1024, false});
  bare.pass(5s);
  bare.ask(request(Verb::kSubmit, submit_arguments()));
  const std::string about = encode_payload(JobRef{JobId(1)});
  gossip::Envelope envelope = BareNode::envelope(MessageType::kRequest);
  const std::string suspend = gossip::encode(envelope, encode(request(Verb::kSuspend, about)));
  bare.receive(suspend);
  const scheduler::Job* job = bare.node().seat().state().job(JobId(1));
  EXPECT_EQ(job->life.state, scheduler::JobState::kSuspended);
  bare.ask(request(Verb::kResume, about));
  bare.receive(suspend);
  EXPECT_NE(job->life.state, scheduler::JobState::kSuspended);
  envelope.nonce = Nonce(10);
  bare.receive(gossip::encode(envelope, encode(request(Verb::kSuspend, about))));
  EXPECT_EQ(job->life.state, scheduler::JobState::kSuspended) << "said anew";
}

TEST(Node, TheLogNamesTheAskerNotTheLeader) {
  BareNode bare(1, ClusterId(), {}, false, {"H100", {{"GPU-1", true}}, 8, 1024, false});
  bare.pass(5s);
  Request asked = request(Verb::kSubmit, submit_arguments());
  asked.user = "ann";
  asked.via = "peer";
  gossip::Envelope envelope = BareNode::envelope(MessageType::kRequest, bare.node().cluster());
  bare.receive(gossip::encode(envelope, encode(asked)));
  const scheduler::Job* job = bare.node().seat().state().job(JobId(1));
  ASSERT_NE(job, nullptr);
  EXPECT_EQ(job->submitted_by, "ann@peer");
}

/// The peer answers the newest probe: its row is at `sequence`.
void acknowledge(Forwarding& bare, std::uint64_t sequence) {
  for (const gossip::TransportOutput& each : std::exchange(bare.transport, {})) {
    const auto* sent = std::get_if<gossip::Send>(&each);
    const auto message =
        sent == nullptr ? std::nullopt : std::optional(gossip::decode(sent->bytes));
    if (message.has_value() && message->has_value() &&
        (*message)->envelope().type == MessageType::kProbe) {
      gossip::Envelope envelope = BareNode::envelope(MessageType::kAck);
      envelope.nonce = (*message)->envelope().nonce;
      const membership::Body ack = membership::Ack{1s, Sequence(sequence)};
      bare.receive(gossip::encode(envelope, membership::encode(ack)));
    }
  }
}

Duration age_of_hosts(Forwarding& bare) {
  return std::chrono::milliseconds(bare.ask(request(Verb::kHosts))->age_ms);
}

/// Each client says "ben" of itself and of the job.
TEST(Node, ALoginIsTheUserThatItsKernelProves) {
  BareNode bare(Login{1000, "ann"});
  bare.pass(5s);
  bare.vouch({kPeer});
  const auto user_of_job = [&](const gossip::Sender& sender, const std::string& key) {
    scheduler::JobSpec spec;
    spec.command.argv = {"true"};
    spec.user = "ben";
    Request submit = request(Verb::kSubmit, encode_payload(SubmitArgs{key, spec}));
    submit.user = "ben";
    submit.via = sender.kind == gossip::Sender::Kind::kHost ? "peer" : "";
    bare.ask_as(sender, encode(submit));
    const auto job = bare.node().seat().state().job_of_key(key);
    const scheduler::Job* found = job.has_value() ? bare.node().seat().state().job(*job) : nullptr;
    return found == nullptr ? "no job" : found->spec.user;
  };
  using Kind = gossip::Sender::Kind;
  EXPECT_EQ(user_of_job({Kind::kLogin, {}, {}, 1000}, "a"), "ann");
  EXPECT_EQ(user_of_job({Kind::kLogin, {}, {}, 0}, "b"), "root");
  EXPECT_EQ(user_of_job({Kind::kHost, kPeer}, "c"), "ben") << "the peer's own login";
  EXPECT_EQ(user_of_job({Kind::kLogin, {}, {}, 1001}, "d"), "no job");
}

/// The status of the answer to a login of the host of root's agent that says it is root.
ResponseStatus answer_to(BareNode& bare, std::uint32_t uid, const std::string& name, Verb verb,
                         std::string arguments = "") {
  Request asked = request(verb, std::move(arguments));
  asked.user = "root";
  const gossip::Sender login{gossip::Sender::Kind::kLogin, {}, {}, uid, name};
  return bare.ask_as(login, encode(asked)).value_or(Response{}).status;
}

TEST(Node, AGuestHasTheRightsOfItsUserAndDoesNotChangeTheHost) {
  BareNode bare(Login{0, "root"});
  bare.pass(5s);
  bare.vouch({kPeer});
  const auto ben = [&](Verb verb, std::string arguments = "") {
    return answer_to(bare, 1001, "ben", verb, std::move(arguments));
  };
  for (const Verb verb : {Verb::kVersion, Verb::kHosts, Verb::kJobs, Verb::kEvents}) {
    EXPECT_EQ(ben(verb), ResponseStatus::kOk) << static_cast<int>(verb);
    EXPECT_EQ(answer_to(bare, 1001, "", verb), ResponseStatus::kDenied) << "it has no name";
  }
  RecoverArgs order;
  order.is_order = true;
  EXPECT_EQ(ben(Verb::kLeave), ResponseStatus::kDenied);
  EXPECT_EQ(ben(Verb::kRecover, encode_payload(RecoverArgs())), ResponseStatus::kDenied);
  EXPECT_EQ(ben(Verb::kRecover, encode_payload(order)), ResponseStatus::kDenied);
  EXPECT_EQ(ben(Verb::kDrain, encode_payload(DrainArgs{kSelf, "disk", false, 0})),
            ResponseStatus::kDenied);
  EXPECT_EQ(ben(Verb::kFound, encode_payload(FoundArgs{1, ""})), ResponseStatus::kConflict);
  EXPECT_EQ(answer_to(bare, 0, "", Verb::kSubmit, submit_arguments()), ResponseStatus::kOk);
  EXPECT_EQ(ben(Verb::kCancel, encode_payload(JobRun{JobId(1)})), ResponseStatus::kDenied);
  EXPECT_FALSE(bare.has_exited());
  EXPECT_EQ(answer_to(bare, 0, "", Verb::kLeave), ResponseStatus::kConflict) << "it runs a job";
}

TEST(Node, AHostThatKnowsNoUsersYetLetsNoGuestDoWhatNobodyJudges) {
  Forwarding bare;
  bare.pass(600ms);
  const auto status = [&](std::uint32_t uid, Verb verb, std::string arguments = "") {
    return answer_to(bare, uid, uid == 0 ? "" : "ben", verb, std::move(arguments));
  };
  EXPECT_EQ(status(1001, Verb::kEvents), ResponseStatus::kOk);
  const std::string look = encode_payload(RecoverArgs());
  EXPECT_EQ(status(1001, Verb::kLeave), ResponseStatus::kNoQuorum);
  EXPECT_EQ(status(1001, Verb::kRecover, look), ResponseStatus::kNoQuorum);
  EXPECT_EQ(status(1001, Verb::kOutput, encode_payload(OutputQuery())), ResponseStatus::kNoQuorum);
  EXPECT_EQ(status(0, Verb::kLeave), ResponseStatus::kOk);
}

TEST(Node, AHostWithoutTheLogJudgesByItsCopyOfTheUsers) {
  Forwarding bare({kPeer}, false, 7);
  bare.pass(1s);
  UserList list;
  list.version = 7;
  list.are_logins_users = true;
  list.users = {{"carol", "lead", {"nlp"}}, {kAdmin, "admin", {}}};
  bare.receive(gossip::encode(Forwarding::envelope(MessageType::kUsersPage), encode_payload(list)));
  EXPECT_TRUE(bare.records(crdt::Environment::kState).contains("users/list"));
  EXPECT_EQ(answer_to(bare, 1001, "ben", Verb::kLeave), ResponseStatus::kDenied);
  const auto reads = [&](const std::string& user) {
    Request asked = request(Verb::kOutput, encode_payload(OutputQuery()));
    asked.user = user;
    EXPECT_FALSE(bare.ask(asked).has_value()) << "its disk is asked first";
    bare.transport.clear();
    bare.feed(OutputRead{
        bare.reads.back().request, OutputChunk{"words", 5, true, 0, {}}, "", {"ben", "nlp"}});
    return bare.answers();
  };
  EXPECT_EQ(reads("ben"), std::vector{ResponseStatus::kOk});
  EXPECT_EQ(reads("carol"), std::vector{ResponseStatus::kOk}) << "a lead of the team";
  EXPECT_EQ(reads(kAdmin), std::vector{ResponseStatus::kOk});
  EXPECT_EQ(reads("ann"), std::vector{ResponseStatus::kDenied});
}

Response said(BareNode& bare, const std::string& user, Verb verb, std::string arguments) {
  Request asked = request(verb, std::move(arguments));
  asked.user = user;
  return bare.ask(asked).value_or(Response());
}

BareNode with_a_gpu() {
  crdt::Capacity capacity;
  capacity.gpu_type = "H100";
  capacity.gpus.resize(1);
  capacity.gpus[0].uuid = "GPU-1";
  capacity.gpus[0].healthy = true;
  return BareNode(1, ClusterId(), {}, false, capacity);
}

TEST(Node, AUserChangesOwnJobsAndTheAdministratorAll) {
  BareNode bare = with_a_gpu();
  bare.pass(5s);
  const Response made = said(bare, "ann", Verb::kSubmit, submit_arguments());
  ASSERT_EQ(made.status, ResponseStatus::kOk) << made.text;
  const std::string job = encode_payload(JobRef{JobId(1)});
  for (const Verb verb : {Verb::kCancel, Verb::kSuspend, Verb::kResume}) {
    const Response denied = said(bare, "bob", verb, job);
    EXPECT_EQ(denied.status, ResponseStatus::kDenied) << denied.text;
    EXPECT_EQ(denied.text,
              "job 1 of user ann, team default: user bob (role user) may not change it: user ann "
              "or an admin (admin) can");
  }
  const auto shown = [&](const std::string& user) {
    return decode_payload<JobDetail>(said(bare, user, Verb::kShow, job).payload)
        .value_or(JobDetail());
  };
  EXPECT_FALSE(shown("ann").is_private);
  EXPECT_EQ(shown("ann").spec.command.argv, std::vector<std::string>{"true"});
  EXPECT_TRUE(shown("bob").is_private);
  EXPECT_EQ(shown("bob").spec.command, scheduler::Command()) << "nor its environment";
  EXPECT_EQ(shown("bob").summary.user, "ann");
  EXPECT_EQ(said(bare, "bob", Verb::kJobs, "").status, ResponseStatus::kOk);
  EXPECT_EQ(said(bare, "ann", Verb::kEdit, encode_payload(EditArgs{JobId(1), 101})).text,
            "the highest priority of team default is 100");
  EXPECT_EQ(said(bare, "", Verb::kCancel, job).status, ResponseStatus::kDenied);
  EXPECT_EQ(said(bare, "ann", Verb::kCancel, job).status, ResponseStatus::kOk);
  scheduler::JobSpec spec;
  spec.command.argv = {"true"};
  said(bare, "ann", Verb::kSubmit, encode_payload(SubmitArgs{"two", spec}));
  EXPECT_EQ(said(bare, kAdmin, Verb::kCancel, encode_payload(JobRef{JobId(2)})).status,
            ResponseStatus::kOk);
}

TEST(Node, ARefusalHasItsLineInTheAuditWhenItIsTold) {
  BareNode bare = with_a_gpu();
  bare.pass(5s);
  said(bare, "ann", Verb::kSubmit, submit_arguments());
  const std::string job = encode_payload(JobRef{JobId(1)});
  for (std::uint64_t i = 1; i <= 3; ++i) {
    ASSERT_EQ(said(bare, "bob", Verb::kCancel, job).status, ResponseStatus::kDenied);
    const auto& lines = bare.node().seat().state().audit().lines();
    ASSERT_EQ(lines.size(), 1 + i) << "the submit, and each refusal";
    EXPECT_EQ(lines.back().user, "bob");
    EXPECT_EQ(lines.back().object, "job 1");
    EXPECT_EQ(lines.back().outcome, scheduler::AuditOutcome::kDenied);
  }
}

TEST(Node, OnlyOperatorsAndAdministratorsChangeHosts) {
  BareNode bare = with_a_gpu();
  bare.pass(5s);
  const std::string drain = encode_payload(DrainArgs{kSelf, "disk", false, 0});
  EXPECT_EQ(said(bare, "ann", Verb::kDrain, drain).status, ResponseStatus::kDenied);
  EXPECT_EQ(said(bare, kAdmin, Verb::kDrain, drain).status, ResponseStatus::kOk);
  EXPECT_EQ(said(bare, "ann", Verb::kRotateKeys, encode_payload(RotateArgs())).status,
            ResponseStatus::kDenied);
  EXPECT_EQ(said(bare, "ann", Verb::kHosts, "").status, ResponseStatus::kOk);
}

TEST(Node, AnAnswerThatNoMessageHoldsBecomesAnError) {
  BareNode bare = with_a_gpu();
  bare.pass(5s);
  scheduler::JobSpec spec;
  spec.command.argv = {"true"};
  spec.name = std::string(scheduler::kTextBytesMax, 'n');
  for (int i = 0; i < 2200; ++i) {
    // Several users, because each has a bucket of changes.
    spec.user = std::string(scheduler::kTextBytesMax - 1, 'n') + std::to_string(i % 4);
    const SubmitArgs submit{"key" + std::to_string(i), spec};
    Request asked = request(Verb::kSubmit, encode_payload(submit));
    asked.user = spec.user;
    const auto taken = bare.ask(asked);
    ASSERT_TRUE(taken.has_value());
    ASSERT_EQ(taken->status, ResponseStatus::kOk) << taken->text;
  }
  const auto answer = bare.ask(request(Verb::kJobs));
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->status, ResponseStatus::kFailed);
  EXPECT_NE(answer->text.find("more than the 1 MiB of a message"), std::string::npos);
  const auto page = bare.ask(request(Verb::kJobs, encode_payload(JobsQuery{})));
  EXPECT_EQ(page->status, ResponseStatus::kOk);
}

TEST(Node, HostsAreAsOldAsTheLastWordThatNothingNewerExists) {
  Forwarding bare;
  bare.pass(600ms);
  acknowledge(bare, 3);
  EXPECT_EQ(age_of_hosts(bare), 0s);
  bare.pass(900ms);
  EXPECT_EQ(age_of_hosts(bare), 900ms);
}

TEST(Node, AnAckThatNamesANewerRowConfirmsNothing) {
  Forwarding bare;
  bare.pass(600ms);
  acknowledge(bare, 4);
  EXPECT_EQ(age_of_hosts(bare), 600ms);
}

TEST(Node, AHostKnownToBeGoneDoesNotMakeTheOthersOld) {
  Forwarding bare;
  bare.pass(20s);
  EXPECT_EQ(bare.count("unreachable"), 1U);
  EXPECT_EQ(age_of_hosts(bare), 0s);
}

}  // namespace
}  // namespace muster::agent
