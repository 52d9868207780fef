// Tests of the transport over real loopback sockets: messages and answers, how links end and how
// fast that is reported, and hostile peers. Each wait is for an event, with a limit; the kernel
// chooses the ports.

#include "gossip/edge/zmq_transport.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "gossip/edge/zmq_client.h"
#include "tests/gossip/edge/peer.h"

namespace muster::gossip {
namespace {

TEST(ZmqTransport, AnswersTravelBackOnTheRouteTheQuestionCameInOn) {
  Peer a;
  Peer b;
  a.say(b.control(), "question");
  ASSERT_TRUE(turn_until({&a, &b}, [&] { return !b.received_.empty(); }));
  EXPECT_EQ(b.received_[0].bytes, "question");
  EXPECT_EQ(b.received_[0].channel, Channel::kControl);
  b.transport().reply({b.received_[0].route, "answer"});
  ASSERT_TRUE(turn_until({&a, &b}, [&] { return !a.received_.empty() && !a.ups_.empty(); }));
  EXPECT_EQ(a.received_[0].bytes, "answer");
  EXPECT_EQ(a.received_[0].route, Route());
  EXPECT_EQ(a.ups_, std::vector<Endpoint>{b.control()});
}

TEST(ZmqTransport, BulkTravelsApartFromControl) {
  Peer a;
  Peer b;
  a.say(b.transport().bulk_endpoint(), message_of(kMessageBytesMax), Channel::kBulk);
  a.say(b.control(), "small");
  ASSERT_TRUE(turn_until({&a, &b}, [&] { return b.received_.size() == 2; }));
  for (const Received& received : b.received_) {
    EXPECT_EQ(received.channel == Channel::kBulk, received.bytes.size() == kMessageBytesMax);
  }
}

TEST(ZmqTransport, MessagesOfOneLinkKeepTheirOrder) {
  Peer a;
  Peer b;
  link_up(a, b);
  for (int i = 0; i < 50; ++i) {
    a.say(b.control(), std::to_string(i));
  }
  ASSERT_TRUE(turn_until({&a, &b}, [&] { return b.received_.size() == 51; }));
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(b.received_[static_cast<std::size_t>(i) + 1].bytes, std::to_string(i));
  }
}

TEST(ZmqTransport, ARefusedPortIsReportedAtOnceEveryTime) {
  Peer a;
  RefusedPort port;
  a.expect_anything(port.endpoint);
  for (std::size_t round = 1; round <= 20; ++round) {
    const auto start = Clock::now();
    a.say(port.endpoint, "anyone?");
    ASSERT_TRUE(turn_until({&a}, [&] { return a.downs_.size() == round; }));
    EXPECT_EQ(a.downs_.back().loss, LinkLoss::kRefused);
    EXPECT_EQ(a.downs_.back().peer, port.endpoint);
    // The target is 10 ms; the margin is for busy machines and sanitisers.
    EXPECT_LT(since(start), milliseconds(200));
  }
  EXPECT_TRUE(a.ups_.empty());
}

TEST(ZmqTransport, APeerThatDiesIsRefusedAndStaysSo) {
  Peer a;
  auto b = std::make_unique<Peer>();
  const Endpoint peer = b->control();
  link_up(a, *b);
  b.reset();
  ASSERT_TRUE(turn_until({&a}, [&] { return !a.downs_.empty(); }));
  EXPECT_EQ(a.downs_[0].loss, LinkLoss::kRefused);
  EXPECT_EQ(a.downs_[0].peer, peer);
  a.say(peer, "again");
  ASSERT_TRUE(turn_until({&a}, [&] { return a.downs_.size() == 2; }));
  EXPECT_EQ(a.downs_[1].loss, LinkLoss::kRefused);
}

TEST(ZmqTransport, APeerThatReturnsIsReachedByTheNextSend) {
  Peer a;
  auto b = std::make_unique<Peer>();
  ZmqTransport::Options same;
  same.control = b->control();
  link_up(a, *b);
  b.reset();
  ASSERT_TRUE(turn_until({&a}, [&] { return !a.downs_.empty(); }));
  b = std::make_unique<Peer>(same);
  a.say(b->control(), "welcome back");
  ASSERT_TRUE(turn_until({&a, b.get()}, [&] { return !b->received_.empty(); }));
  EXPECT_EQ(b->received_.size(), 1U);
  EXPECT_EQ(b->received_[0].bytes, "welcome back");
}

TEST(ZmqTransport, AListenerThatNeverShakesHandsIsATimeout) {
  Peer a;
  RawSocket silent;
  const Endpoint peer = silent.bind_any();
  silent.listen_on();
  a.expect_anything(peer);
  const auto start = Clock::now();
  a.say(peer, "anyone?");
  ASSERT_TRUE(turn_until({&a}, [&] { return !a.downs_.empty(); }));
  EXPECT_EQ(a.downs_[0].loss, LinkLoss::kTimeout);
  EXPECT_GE(since(start), kHandshakeTimeout - milliseconds(10));
  EXPECT_LT(since(start), kHandshakeTimeout + milliseconds(1000));
  EXPECT_TRUE(a.ups_.empty());
}

TEST(ZmqTransport, GarbageOnThePortDisturbsNobody) {
  Peer a;
  Peer b;
  link_up(a, b);
  RawSocket garbage;
  garbage.connect_to(b.control());
  garbage.write_all("GET / HTTP/1.1\r\n\r\n" + std::string(5000, '\xff'));
  RawSocket half;
  half.connect_to(b.control());
  half.write_all(std::string("\xff\0\0\0\0\0\0\0\x01\x7f\3", 11));
  for (int i = 0; i < 20; ++i) {
    a.say(b.control(), "still here");
  }
  ASSERT_TRUE(turn_until({&a, &b}, [&] { return b.received_.size() == 21; }));
  EXPECT_TRUE(a.downs_.empty());
}

TEST(ZmqTransport, OnlySingleFramesAreMessages) {
  Peer b;
  CurveDealer client(b);
  zmq::socket_t& dealer = client.socket;
  dealer.send(zmq::str_buffer("one"), zmq::send_flags::sndmore);
  dealer.send(zmq::str_buffer("two"), zmq::send_flags::none);
  dealer.send(zmq::message_t(), zmq::send_flags::none);
  dealer.send(zmq::str_buffer("good"), zmq::send_flags::none);
  ASSERT_TRUE(turn_until({&b}, [&] { return !b.received_.empty(); }));
  EXPECT_EQ(b.received_[0].bytes, "good");
  EXPECT_EQ(b.transport().stats().dropped_malformed, 2U);
}

TEST(ZmqTransport, OversizedMessagesAreDroppedOnBothSides) {
  Peer a;
  Peer b;
  a.say(b.control(), std::string(kMessageBytesMax + 1, 'x'));
  EXPECT_EQ(a.transport().stats().dropped_too_large, 1U);
  EXPECT_EQ(a.transport().stats().dials, 0U);
  CurveDealer client(b);
  zmq::socket_t& dealer = client.socket;
  dealer.send(zmq::message_t(kMessageBytesMax + 1), zmq::send_flags::none);
  link_up(a, b);
  EXPECT_EQ(b.received_.size(), 1U);
}

/// A peer whose large frames are no messages is cut off at the first one. decode() refuses small
/// ones.
TEST(ZmqTransport, NoiseEndsItsConnection) {
  Peer b;
  CurveDealer client(b);
  zmq::socket_t& dealer = client.socket;
  dealer.send(zmq::message_t(std::string(kSmallFrameBytes, 'x')), zmq::send_flags::none);
  dealer.send(zmq::message_t(std::string(kMessageBytesMax, 'x')), zmq::send_flags::none);
  ASSERT_TRUE(turn_until({&b}, [&] { return b.transport().stats().dropped_noise == 1; }));
  dealer.set(zmq::sockopt::sndtimeo, 1);
  const auto began = Clock::now();
  bool is_up = true;
  while (is_up && since(began) < std::chrono::seconds(5)) {
    turn_until({&b}, [&] { return true; });
    is_up = static_cast<bool>(
        dealer.send(zmq::message_t(std::string("more")), zmq::send_flags::dontwait));
  }
  EXPECT_FALSE(is_up) << "the connection lives on";
  Peer a;
  link_up(a, b);
  EXPECT_EQ(b.received_.front().bytes.size(), kSmallFrameBytes);
}

TEST(ZmqTransport, ATurnReadsSoManyBytes) {
  ZmqTransport::Options options;
  options.bytes_per_turn = 100'000;
  Peer b(options);
  Peer a;
  link_up(a, b);
  b.received_.clear();
  b.most_in_a_turn_ = 0;
  for (int i = 0; i < 6; ++i) {
    a.say(b.control(), message_of(50'000));
  }
  ASSERT_TRUE(turn_until({&a, &b}, [&] { return b.received_.size() == 6; }));
  EXPECT_LE(b.most_in_a_turn_, 2U);
}

TEST(ZmqTransport, ALinkThatJustCameUpIsNotGivenUp) {
  ZmqTransport::Options options;
  options.young_link = std::chrono::seconds(60);
  Peer a(options);
  Peer b;
  for (std::size_t round = 1; round <= 5; ++round) {
    a.say(b.control(), std::to_string(round));
    ASSERT_TRUE(turn_until({&a, &b}, [&] { return b.received_.size() == round; })) << round;
    a.transport().drop({b.control()});
  }
  EXPECT_EQ(a.transport().stats().dials, 1U);
}

TEST(ZmqTransport, ADroppedLinkRedialsCleanlyTwoHundredTimes) {
  ZmqTransport::Options options;
  options.young_link = Duration(0);
  Peer a(options);
  Peer b;
  for (std::size_t round = 1; round <= 200; ++round) {
    a.say(b.control(), std::to_string(round));
    ASSERT_TRUE(turn_until({&a, &b}, [&] {
      return b.received_.size() == round && a.ups_.size() == round;
    })) << round;
    a.transport().drop({b.control()});
  }
  EXPECT_TRUE(a.downs_.empty());
  EXPECT_EQ(a.transport().stats().dials, 200U);
}

TEST(ZmqTransport, AHandshakeThatIsUnderWayIsNotGivenUp) {
  Peer a;
  RawSocket silent;
  const Endpoint peer = silent.bind_any();
  silent.listen_on();
  a.expect_anything(peer);
  const auto never = [] { return false; };
  for (int round = 0; round < 10; ++round) {
    a.say(peer, "anyone?");
    turn_until({&a}, never, milliseconds(100));
    a.transport().drop({peer});
  }
  EXPECT_EQ(a.transport().stats().dials, 1U);
  EXPECT_TRUE(a.downs_.empty());
}

TEST(ZmqTransport, ALinkDroppedWhileItDialsDoesNotEndTheNextOne) {
  Peer a;
  Peer b;
  for (int round = 0; round < 200; ++round) {
    a.say(b.control(), "lost or not");
    a.transport().drop({b.control()});
  }
  a.say(b.control(), "last");
  // Messages of an older connection may come later than those of a younger one.
  const auto has_come = [&](const std::string& words) {
    return std::any_of(b.received_.begin(), b.received_.end(),
                       [&](const auto& each) { return each.bytes == words; });
  };
  ASSERT_TRUE(turn_until({&a, &b}, [&] { return has_come("last") && !a.ups_.empty(); }));
  a.say(b.control(), "and on");
  ASSERT_TRUE(turn_until({&a, &b}, [&] { return has_come("and on"); }));
  EXPECT_TRUE(a.downs_.empty());
}

TEST(ZmqTransport, RepliesToClosedAndUnknownRoutesAreDropped) {
  auto a = std::make_unique<Peer>();
  Peer b;
  link_up(*a, b);
  const Route route = b.received_[0].route;
  a.reset();
  ASSERT_TRUE(turn_until({&b}, [&] {
    b.transport().reply({route, "too late"});
    return b.transport().stats().dropped_no_route > 0;
  }));
  b.transport().reply({Route(999), "to nobody"});
  b.transport().reply({Route(), "to none"});
  EXPECT_EQ(b.transport().stats().dropped_no_route, 3U);
}

TEST(ZmqTransport, RoutesAreForgottenOldestFirst) {
  ZmqTransport::Options options;
  options.routes_max = 1;
  Peer b(options);
  Peer a;
  link_up(a, b);
  Peer c;
  link_up(c, b);
  b.transport().reply({b.received_[0].route, "forgotten"});
  EXPECT_EQ(b.transport().stats().dropped_no_route, 1U);
  b.transport().reply({b.received_[1].route, "known"});
  ASSERT_TRUE(turn_until({&c}, [&] { return !c.received_.empty(); }));
}

TEST(ZmqTransport, AFullQueueDropsAndDoesNotBlock) {
  Peer a;
  RawSocket silent;
  const Endpoint peer = silent.bind_any();
  silent.listen_on();
  a.expect_anything(peer);
  for (int i = 0; i < 1000; ++i) {
    a.say(peer, "into the void");
  }
  EXPECT_EQ(a.transport().stats().sent, 64U);
  EXPECT_EQ(a.transport().stats().dropped_queue_full, 936U);
}

TEST(ZmqTransport, LinksAreLimited) {
  ZmqTransport::Options options;
  options.links_max = 1;
  Peer a(options);
  Peer b;
  link_up(a, b);
  RefusedPort port;
  a.expect_anything(port.endpoint);
  a.say(port.endpoint, "one too many");
  EXPECT_EQ(a.transport().stats().dropped_links_full, 1U);
}

TEST(ZmqTransport, AnIdleLinkMakesRoomForANewOne) {
  ZmqTransport::Options options;
  options.links_max = 2;
  Peer a(options);
  Peer b;
  Peer c;
  Peer d;
  link_up(a, b);
  link_up(a, c);
  const auto began = Clock::now();
  turn_until({&a, &b, &c, &d}, [&] { return since(began) > kLinkIdleMin; });
  link_up(a, c);  // The link to b is the idle one.
  link_up(a, d);
  EXPECT_EQ(a.transport().stats().closed_idle, 1U);
  EXPECT_EQ(a.transport().stats().dropped_links_full, 0U);
  EXPECT_TRUE(a.downs_.empty()) << "nobody is told";
  link_up(a, c);
  EXPECT_EQ(a.transport().stats().dials, 3U) << "c's link was left alone";
}

TEST(ZmqTransport, APortInUseIsAConflictThatNamesIt) {
  Peer a;
  ZmqTransport::Options options;
  options.control = a.control();
  options.bulk = any_port();
  options.link = LinkKeys::make();
  const auto opened = ZmqTransport::open(options);
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().code, ErrorCode::kConflict);
  EXPECT_NE(opened.error().text.find(std::to_string(a.control().port)), std::string::npos);
}

TEST(ZmqTransport, SixthVersionAddressesWorkToo) {
  ZmqTransport::Options options;
  options.control = *Endpoint::parse("[::1]:0", 0);
  options.bulk = any_port();
  options.link = LinkKeys::make();
  auto opened = ZmqTransport::open(options);
  if (!opened) {
    GTEST_SKIP() << "this machine has no IPv6 loopback: " << opened.error().text;
  }
  opened = Error{};
  Peer b(options);
  Peer a;
  link_up(a, b);
  EXPECT_EQ(a.ups_[0], b.control());
}

TEST(ZmqTransport, WaitTellsWhichExtraDescriptorIsReadable) {
  Peer a;
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  int others[2];
  ASSERT_EQ(pipe(others), 0);
  ASSERT_EQ(write(ends[1], "x", 1), 1);
  const int extra[] = {others[0], ends[0]};
  EXPECT_TRUE(a.transport().wait(milliseconds(1000), extra));
  EXPECT_TRUE(a.transport().readable(ends[0]));
  EXPECT_FALSE(a.transport().readable(others[0]));
  for (const int fd : {ends[0], ends[1], others[0], others[1]}) {
    close(fd);
  }
}

TEST(ZmqTransport, AnIdleWaitEndsWithItsTimeout) {
  Peer a;
  const auto start = Clock::now();
  EXPECT_FALSE(a.transport().wait(milliseconds(20)));
  EXPECT_GE(since(start), milliseconds(19));
}

class ZmqClientTest : public DirectoryTest {
 protected:
  static void ask(ZmqClient& client, Peer& agent) {
    ASSERT_TRUE(client.send("question").has_value());
    ASSERT_TRUE(turn_until({&agent}, [&] { return !agent.received_.empty(); }));
    agent.transport().reply({agent.received_.back().route, "answer"});
    const auto answer = client.receive(kPatience);
    ASSERT_TRUE(answer.has_value()) << answer.error().text;
    EXPECT_EQ(*answer, "answer");
  }
};

TEST_F(ZmqClientTest, AsksOverTheUnixSocketWhichOnlyTheOwnerMayUse) {
  ZmqTransport::Options options;
  options.ipc_path = path();
  Peer agent(options);
  struct stat status {};
  ASSERT_EQ(stat(path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
  auto client = ZmqClient::connect("ipc://" + path());
  ASSERT_TRUE(client.has_value());
  ask(*client, agent);
}

TEST_F(ZmqClientTest, ASocketThatWasTakenAwayIsMadeAgain) {
  ZmqTransport::Options options;
  options.ipc_path = path();
  Peer agent(options);
  auto before = ZmqClient::connect("ipc://" + path());
  ASSERT_TRUE(before.has_value());
  for (std::uint64_t times = 1; times <= 2; ++times) {
    std::filesystem::remove(path());
    ASSERT_TRUE(turn_until(
        {&agent}, [&] { return agent.transport().stats().cli_renewed == times; },
        milliseconds(10'000)));
    struct stat status {};
    ASSERT_EQ(stat(path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600U);
    auto client = ZmqClient::connect("ipc://" + path());
    ASSERT_TRUE(client.has_value());
    agent.received_.clear();
    ask(*client, agent);
  }
  agent.received_.clear();
  // Its connection ended with the old socket, and it dialled the new one: that is no end of this
  // question, however long the answer takes.
  ASSERT_TRUE(before->send("question").has_value());
  ASSERT_TRUE(turn_until({&agent}, [&] { return !agent.received_.empty(); }));
  const auto early = before->receive(milliseconds(20));
  ASSERT_TRUE(early.has_value()) << early.error().text;
  EXPECT_FALSE(early->has_value());
  agent.transport().reply({agent.received_.back().route, "answer"});
  const auto answer = before->receive(kPatience);
  ASSERT_TRUE(answer.has_value()) << answer.error().text;
  EXPECT_EQ(*answer, "answer");
}

TEST_F(ZmqClientTest, SaysAtOnceThatNobodyAnswers) {
  RefusedPort port;
  for (const std::string& address : {"ipc://" + path(), "tcp://" + port.endpoint.text()}) {
    const auto start = Clock::now();
    const auto client = ZmqClient::connect(address);
    ASSERT_FALSE(client.has_value());
    EXPECT_EQ(client.error().code, ErrorCode::kUnavailable);
    EXPECT_NE(client.error().text.find("start one"), std::string::npos);
    EXPECT_LT(since(start), milliseconds(200));
  }
  EXPECT_EQ(ZmqClient::connect("http://x").error().code, ErrorCode::kInvalid);
}

TEST_F(ZmqClientTest, AStaleSocketFileIsNobody) {
  ZmqTransport::Options options;
  options.ipc_path = path();
  { Peer gone(options); }
  const auto client = ZmqClient::connect("ipc://" + path());
  ASSERT_FALSE(client.has_value());
  EXPECT_EQ(client.error().code, ErrorCode::kUnavailable);
}

TEST_F(ZmqClientTest, AnAnswerThatDoesNotComeIsNothingAfterTheTimeout) {
  ZmqTransport::Options options;
  options.ipc_path = path();
  Peer agent(options);
  auto client = ZmqClient::connect("ipc://" + path());
  ASSERT_TRUE(client.has_value());
  ASSERT_TRUE(client->send("question").has_value());
  const auto answer = client->receive(milliseconds(30));
  ASSERT_TRUE(answer.has_value());
  EXPECT_FALSE(answer->has_value());
}

}  // namespace
}  // namespace muster::gossip
