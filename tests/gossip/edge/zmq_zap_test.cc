// The answers to libzmq's questions about handshakes, asked as libzmq asks them.

#include "gossip/edge/zmq_zap.h"

#include <gtest/gtest.h>

#include <cstring>

#include "gossip/edge/link_keys.h"
#include "gossip/edge/proof_text.h"

namespace muster::gossip {
namespace {

constexpr int kPatienceMs = 5000;

struct Zap {
  Zap() : zap(context, keys, connections), asker(context, zmq::socket_type::req) {
    asker.set(zmq::sockopt::linger, 0);
    asker.set(zmq::sockopt::rcvtimeo, kPatienceMs);
    asker.connect("inproc://zeromq.zap.01");
    zap.start();
  }

  std::vector<std::string> ask(const std::vector<std::string>& question) {
    for (std::size_t i = 0; i < question.size(); ++i) {
      const auto more = i + 1 < question.size() ? zmq::send_flags::sndmore : zmq::send_flags::none;
      asker.send(zmq::buffer(question[i]), more);
    }
    std::vector<std::string> answer;
    zmq::message_t frame;
    do {
      if (!asker.recv(frame)) {
        ADD_FAILURE() << "no answer";
        break;
      }
      answer.push_back(frame.to_string());
    } while (frame.more());
    return answer;
  }
  /// "200" or "400".
  std::string status_of(const std::vector<std::string>& question) {
    const std::vector<std::string> answer = ask(question);
    return answer.size() == 6 ? answer[2] : "an answer of " + std::to_string(answer.size());
  }

  zmq::context_t context;
  AdmittedKeys keys;
  AcceptedConnections connections;
  ZmqZap zap;
  zmq::socket_t asker;
};

const std::string kKnown(kLinkKeyBytes, 'k');

std::vector<std::string> question(const std::string& key, const std::string& from = "10.0.0.1") {
  return {"1.0", "7", kZapDomain, from, "", "CURVE", key};
}

void let_in(Zap& zap, const std::string& key) {
  Sender sender;
  sender.kind = Sender::Kind::kTicket;
  sender.ticket = key;
  ASSERT_TRUE(zap.keys.admit({key, sender}));
}

TEST(ZmqZap, AnAdmittedKeyComesInUnderItsName) {
  Zap zap;
  let_in(zap, kKnown);
  EXPECT_EQ(zap.ask(question(kKnown)),
            (std::vector<std::string>{"1.0", "7", "200", "", user_id_of(kKnown), ""}));
  EXPECT_EQ(zap.zap.refused().unknown_key, 0U);
}

TEST(ZmqZap, AKeyIsRefusedUntilAndAfterItIsAdmitted) {
  Zap zap;
  EXPECT_EQ(zap.ask(question(kKnown)),
            (std::vector<std::string>{"1.0", "7", "400", "unknown key", "", ""}));
  let_in(zap, kKnown);
  EXPECT_EQ(zap.status_of(question(kKnown)), "200");
  zap.keys.admit({kKnown, Sender()});
  EXPECT_EQ(zap.status_of(question(kKnown)), "400");
  EXPECT_EQ(zap.zap.refused().unknown_key, 2U);
}

TEST(ZmqZap, TicketsAreLetInAtAPaceAndHostsAreNot) {
  Zap zap;
  let_in(zap, kKnown);
  const std::string host_key(kLinkKeyBytes, 'h');
  Sender host;
  host.kind = Sender::Kind::kHost;
  ASSERT_TRUE(zap.keys.admit({host_key, host}));
  std::int64_t joins = 0;
  while (joins < 1000 && zap.status_of(question(kKnown)) == "200") {
    ++joins;
    EXPECT_EQ(zap.status_of(question(host_key)), "200");
  }
  EXPECT_GE(joins, kJoinsASecond);
  EXPECT_EQ(zap.zap.refused().early_tickets, 1U);
  EXPECT_EQ(zap.status_of(question(kKnown, "10.0.0.2")), "200");
  EXPECT_EQ(zap.status_of(question(host_key)), "200");
}

TEST(ZmqZap, OtherMechanismsAreRefused) {
  Zap zap;
  EXPECT_EQ(zap.status_of({"1.0", "1", kZapDomain, "10.0.0.1", "", "NULL"}), "400");
  EXPECT_EQ(zap.status_of({"1.0", "1", kZapDomain, "10.0.0.1", "", "PLAIN", "root", "x"}), "400");
  EXPECT_EQ(zap.zap.refused().no_curve, 2U);
}

TEST(ZmqZap, WhatIsNoQuestionOfOursIsRefused) {
  Zap zap;
  let_in(zap, kKnown);
  std::vector<std::string> elsewhere = question(kKnown);
  elsewhere[2] = "global";
  std::vector<std::string> later = question(kKnown);
  later[0] = "2.0";
  std::vector<std::string> longer = question(kKnown);
  longer.resize(100, kKnown);
  for (const auto& bad : {elsewhere, later, longer, question(kKnown + "k"), question(""),
                          std::vector<std::string>{"1.0"}}) {
    EXPECT_EQ(zap.status_of(bad), "400");
  }
  EXPECT_EQ(zap.zap.refused().malformed, 6U);
  EXPECT_EQ(zap.status_of(question(kKnown)), "200") << "it goes on";
}

/// The sockets that hosts come in on ask, and refuse if no answer comes.
TEST(ZmqZap, WhereNobodyAnswersNobodyComesIn) {
  zmq::context_t context;
  const LinkKeys keys = LinkKeys::make();
  zmq::socket_t in(context, zmq::socket_type::router);
  in.set(zmq::sockopt::linger, 0);
  in.set(zmq::sockopt::curve_server, true);
  in.set(zmq::sockopt::curve_secretkey, keys.secret_key);
  in.set(zmq::sockopt::zap_domain, kZapDomain);
  const int is_enforced = 1;
  ASSERT_EQ(zmq_setsockopt(in.handle(), 93, &is_enforced, sizeof is_enforced), 0);
  const int kinds = ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL | ZMQ_EVENT_HANDSHAKE_SUCCEEDED;
  ASSERT_EQ(zmq_socket_monitor(in.handle(), "inproc://in", kinds), 0);
  zmq::socket_t monitor(context, zmq::socket_type::pair);
  monitor.set(zmq::sockopt::rcvtimeo, kPatienceMs);
  monitor.connect("inproc://in");
  in.bind("tcp://127.0.0.1:*");
  zmq::socket_t out(context, zmq::socket_type::dealer);
  out.set(zmq::sockopt::linger, 0);
  out.set(zmq::sockopt::curve_publickey, keys.public_key);
  out.set(zmq::sockopt::curve_secretkey, keys.secret_key);
  out.set(zmq::sockopt::curve_serverkey, keys.public_key);
  out.connect(in.get(zmq::sockopt::last_endpoint));
  zmq::message_t event;
  ASSERT_TRUE(monitor.recv(event).has_value()) << "nothing happened";
  std::uint16_t kind = 0;
  std::memcpy(&kind, event.data(), sizeof kind);
  EXPECT_EQ(kind, ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL);
}

}  // namespace
}  // namespace muster::gossip
