// A host that takes another link pair while others are connected to it, over real loopback sockets.

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <fcntl.h>

#include <filesystem>
#include <iterator>

#include "gossip/edge/zmq_client.h"
#include "tests/gossip/edge/peer.h"

namespace muster::gossip {
namespace {

std::size_t descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

/// Whether the handshake is over and the connection there.
bool is_up(CurveDealer& dealer) {
  return (dealer.socket.get(zmq::sockopt::events) & ZMQ_POLLOUT) != 0;
}

TEST(ZmqRekey, TheNewKeyIsProvenAndTheOldOneIsNot) {
  Peer a;
  Peer b;
  const Endpoint control = b.control();
  const Endpoint bulk = b.transport().bulk_endpoint();
  b.rekey(LinkKeys::make());
  EXPECT_EQ(b.control(), control);
  EXPECT_EQ(b.transport().bulk_endpoint(), bulk);
  a.say(control, "to the old key");
  a.say(bulk, "to the old key", Channel::kBulk);
  ASSERT_TRUE(turn_until({&a, &b}, [&] { return a.downs_.size() == 2; }));
  EXPECT_EQ(a.downs_[0].loss, LinkLoss::kUnproven);
  EXPECT_TRUE(a.ups_.empty());
  a.expect(b);
  a.say(control, "to the new key");
  a.say(bulk, "to the new key", Channel::kBulk);
  ASSERT_TRUE(turn_until({&a, &b}, [&] { return b.received_.size() == 2; }));
  EXPECT_EQ(b.received_[0].bytes, "to the new key");
  EXPECT_EQ(b.received_[1].bytes, "to the new key");
  EXPECT_EQ(b.transport().stats().rekeys, 1U);
}

TEST(ZmqRekey, WhoWasConnectedSeesTheEndAtOnceAndDialsAnew) {
  Peer a;
  Peer b;
  link_up(a, b);
  a.say(b.transport().bulk_endpoint(), "hello", Channel::kBulk);
  ASSERT_TRUE(turn_until({&a, &b}, [&] { return a.ups_.size() == 2 && b.received_.size() == 2; }));
  const Route route = b.received_[0].route;
  b.rekey(LinkKeys::make());
  b.transport().reply({route, "an answer to nobody"});
  EXPECT_EQ(b.transport().stats().dropped_no_route, 1U);
  const auto start = Clock::now();
  ASSERT_TRUE(turn_until({&a}, [&] { return a.downs_.size() == 2; }));
  EXPECT_LT(since(start), kSoon);
  EXPECT_EQ(a.downs_[0].loss, LinkLoss::kReset);
  EXPECT_EQ(a.downs_[1].loss, LinkLoss::kReset);
  a.meet(b);
  b.received_.clear();
  link_up(a, b);
  b.transport().reply({b.received_[0].route, "an answer"});
  ASSERT_TRUE(turn_until({&a, &b}, [&] { return !a.received_.empty(); }));
  EXPECT_EQ(a.received_[0].sender, b.host());
}

TEST(ZmqRekey, ItsOwnLinksEndAndAreDialledWithTheNewKey) {
  Peer b;
  Peer c;
  link_up(b, c);
  const Route route = c.received_[0].route;
  const std::string old_key = b.key();
  b.rekey(LinkKeys::make());
  ASSERT_TRUE(turn_until({&b, &c}, [&] {
    c.transport().reply({route, "are you there?"});
    return c.transport().stats().dropped_no_route > 0;
  })) << "the link lives on";
  EXPECT_TRUE(b.received_.empty());
  b.say(c.control(), "nobody knows me");
  ASSERT_TRUE(turn_until({&b, &c}, [&] { return !b.downs_.empty(); }));
  EXPECT_EQ(c.transport().stats().refused_unknown_key, 1U);
  c.meet(b);
  c.revoke(old_key);
  c.received_.clear();
  b.downs_.clear();
  b.say(c.control(), "it is me, by the old key");
  ASSERT_TRUE(turn_until({&b, &c}, [&] { return !b.downs_.empty(); }));
  ASSERT_TRUE(turn_until({&b, &c}, [&] {
    b.say(c.control(), "it is me");  // The transport drops it while the dial rests.
    return !c.received_.empty();
  }));
  EXPECT_EQ(c.received_[0].bytes, "it is me");
  EXPECT_EQ(c.received_[0].sender, b.host());
}

TEST(ZmqRekey, WhoMissedTheChangeIsReachedByThePreviousKey) {
  Peer b;
  Peer c;
  link_up(b, c);
  b.rekey(LinkKeys::make());
  c.received_.clear();
  b.say(c.control(), "nobody knows me");
  ASSERT_TRUE(turn_until({&b, &c}, [&] { return !b.downs_.empty(); }));
  b.say(c.control(), "it is me");
  ASSERT_TRUE(turn_until({&b, &c}, [&] { return !c.received_.empty(); }));
  EXPECT_EQ(c.received_[0].bytes, "it is me");
  EXPECT_EQ(c.received_[0].sender, b.host());
}

TEST(ZmqRekey, WhoCameInAndNeverSpokeIsEndedToo) {
  Peer b;
  CurveDealer silent(b, LinkKeys::make(), CurveDealer::When::kUp);
  ASSERT_TRUE(turn_until({&b}, [&] { return is_up(silent); }));
  b.rekey(LinkKeys::make());
  const auto start = Clock::now();
  ASSERT_TRUE(turn_until({&b}, [&] { return !is_up(silent); }));
  EXPECT_LT(since(start), kSoon);
}

TEST(ZmqRekey, AnUnfinishedHandshakeIsEndedToo) {
  Peer b;
  RawSocket raw;
  raw.connect_to(b.control());
  ASSERT_TRUE(raw.hears()) << "its greeting: it was accepted";
  const auto start = Clock::now();
  b.rekey(LinkKeys::make());
  EXPECT_TRUE(raw.is_ended());
  EXPECT_LT(since(start), kSoon);
}

/// A port that is free for a moment would show a dead agent.
TEST(ZmqRekey, WhoDialsMeanwhileIsNeverRefused) {
  Peer a;
  Peer b;
  for (int round = 0; round < 20; ++round) {
    const LinkKeys keys = LinkKeys::make();
    a.transport().expect({b.control(), keys.public_key});
    a.say(b.control(), "is on its way");
    b.rekey(keys);
    b.received_.clear();
    ASSERT_TRUE(turn_until({&a, &b}, [&] {
      a.say(b.control(), "are you there?");
      return !b.received_.empty();
    })) << round;
  }
  for (const LinkDown& down : a.downs_) {
    EXPECT_NE(down.loss, LinkLoss::kRefused);
  }
}

TEST(ZmqRekey, ManyTimesLeaveNothingBehind) {
  Peer b;
  const std::size_t before = descriptors();
  for (int round = 0; round < 10; ++round) {
    // Wait until the old listener has closed: it ends the connections that it accepts.
    ASSERT_TRUE(turn_until({&b}, [&] { return descriptors() <= before; }))
        << descriptors() << " descriptors, " << before << " before";
    CurveDealer one(b, LinkKeys::make(), CurveDealer::When::kUp);
    CurveDealer other(b, LinkKeys::make(), CurveDealer::When::kUp);
    ASSERT_TRUE(turn_until({&b}, [&] { return is_up(one) && is_up(other); }));
    other.socket.send(zmq::str_buffer("hello"), zmq::send_flags::none);
    b.rekey(LinkKeys::make());
    b.rekey(LinkKeys::make());
    ASSERT_TRUE(turn_until({&b}, [&] { return !is_up(one) && !is_up(other); })) << round;
  }
}

TEST(ZmqRekey, OfTwoInOneMomentTheSecondWaits) {
  Peer a;
  Peer b;
  const LinkKeys first = LinkKeys::make();
  const LinkKeys second = LinkKeys::make();
  const LinkKeys last = LinkKeys::make();
  for (const LinkKeys* keys : {&first, &second, &last}) {
    b.transport().rekey(*keys);
  }
  EXPECT_EQ(b.transport().stats().rekeys, 1U);
  ASSERT_TRUE(turn_until({&b}, [&] { return b.transport().stats().rekeys == 2; }));
  a.transport().expect({b.control(), last.public_key});
  ASSERT_TRUE(turn_until({&a, &b}, [&] {
    a.say(b.control(), "to the last key");
    return !b.received_.empty();
  }));
}

/// Without a descriptor the listeners cannot be made again: the old key serves until there is one.
TEST(ZmqRekey, WithoutDescriptorsItIsTriedAgain) {
  Peer a;
  Peer b;
  link_up(a, b);
  const LinkKeys keys = LinkKeys::make();
  rlimit all{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &all), 0);
  const int next = open("/dev/null", O_RDONLY | O_CLOEXEC);
  ASSERT_GE(next, 0);
  close(next);
  const rlimit none{static_cast<rlim_t>(next), all.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  b.transport().rekey(keys);
  a.say(b.control(), "to the old key");
  const bool is_heard = turn_until({&a, &b}, [&] {
    return b.received_.size() == 2 && b.transport().stats().rekeys_put_off > 1;
  });
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &all), 0);
  EXPECT_TRUE(is_heard);
  EXPECT_TRUE(a.downs_.empty());
  EXPECT_EQ(b.transport().stats().rekeys, 0U);
  ASSERT_TRUE(turn_until({&a, &b}, [&] { return !a.downs_.empty(); }));
  EXPECT_EQ(b.transport().stats().rekeys, 1U);
  a.transport().expect({b.control(), keys.public_key});
  link_up(a, b);
}

using ZmqRekeyOfLogin = DirectoryTest;

TEST_F(ZmqRekeyOfLogin, TheSocketOfTheCliIsNotTouched) {
  ZmqTransport::Options options;
  options.ipc_path = path();
  Peer agent(options);
  auto client = ZmqClient::connect("ipc://" + path());
  ASSERT_TRUE(client.has_value()) << client.error().text;
  ASSERT_TRUE(client->send("hello").has_value());
  ASSERT_TRUE(turn_until({&agent}, [&] { return !agent.received_.empty(); }));
  agent.rekey(LinkKeys::make());
  agent.transport().reply({agent.received_[0].route, "good day"});
  const auto answer = client->receive(kPatience);
  ASSERT_TRUE(answer.has_value() && answer->has_value());
  EXPECT_EQ(**answer, "good day");
}

TEST(ZmqRekey, WhoDoesNotListenDialsWithTheNewKey) {
  ZmqTransport::Options options;
  options.listens = false;
  options.link = LinkKeys::make();
  auto opened = ZmqTransport::open(options);
  ASSERT_TRUE(opened.has_value()) << opened.error().text;
  const LinkKeys keys = LinkKeys::make();
  (*opened)->rekey(keys);
  Peer b;
  b.transport().admit({keys.public_key, b.host()});
  (*opened)->expect({b.control(), b.key()});
  (*opened)->send({b.control(), Channel::kControl, "hello"});
  ASSERT_TRUE(turn_until({&b}, [&] {
    (*opened)->wait(milliseconds(1));
    (*opened)->take_inputs();
    return !b.received_.empty();
  }));
}

}  // namespace
}  // namespace muster::gossip
