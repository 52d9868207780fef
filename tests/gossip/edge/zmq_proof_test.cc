// Tests of the transport's keys over real loopback sockets: which peers come in, which are dialled,
// and which sent a message.

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <set>

#include "gossip/edge/zmq_client.h"
#include "tests/gossip/edge/peer.h"

namespace muster::gossip {
namespace {

/// The first bytes of each greeting of ZeroMQ.
const std::string kSignature("\xff\0\0\0\0\0\0\0\1\x7f", 10);

Sender ticket_of(const LinkKeys& keys) {
  Sender sender;
  sender.kind = Sender::Kind::kTicket;
  sender.ticket = keys.public_key;
  return sender;
}

/// A host that has a ticket and nothing else.
struct Newcomer {
  Newcomer() : Newcomer(LinkKeys::make()) {}
  explicit Newcomer(LinkKeys keys) : ticket(std::move(keys)), peer(with(ticket), stranger()) {
    peer.transport().dial_with({DialWith::Key::kTicket});
  }
  static Peer::Kind stranger() { return Peer::Kind::kStranger; }
  static ZmqTransport::Options with(const LinkKeys& keys) {
    ZmqTransport::Options options;
    options.ticket = keys;
    return options;
  }

  LinkKeys ticket;
  Peer peer;
};

/// Listening TCP sockets of this process, each of which may have several descriptors.
int listeners() {
  std::set<ino_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int fd = std::stoi(entry.path().filename());
    int listens = 0;
    int domain = 0;
    socklen_t size = sizeof listens;
    getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size);
    getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size);
    struct stat file {};
    if (listens != 0 && domain != AF_UNIX && fstat(fd, &file) == 0) {
      found.insert(file.st_ino);
    }
  }
  return static_cast<int>(found.size());
}

TEST(ZmqProof, BothEndsKnowWhoTheOtherIs) {
  Peer a;
  Peer b;
  link_up(a, b);
  EXPECT_EQ(b.received_[0].sender, a.host());
  b.transport().reply({b.received_[0].route, "answer"});
  ASSERT_TRUE(turn_until({&a, &b}, [&] { return !a.received_.empty(); }));
  EXPECT_EQ(a.received_[0].sender, b.host());
  EXPECT_EQ(a.received_[0].link, b.control());
}

TEST(ZmqProof, AnUnknownKeyIsRefusedAndThatIsNoSignOfDeath) {
  Peer b;
  Peer stranger({}, Peer::Kind::kStranger);
  stranger.expect(b);
  for (std::size_t round = 1; round <= 4; ++round) {
    const auto start = Clock::now();
    stranger.say(b.control(), "let me in");
    ASSERT_TRUE(turn_until({&stranger, &b}, [&] { return stranger.downs_.size() == round; }));
    // A refusal that comes between the dial and the first send has dropped that one, too.
    const auto dropped = stranger.transport().stats().dropped_link_ending;
    stranger.say(b.control(), "let me in at once");
    EXPECT_EQ(stranger.transport().stats().dropped_link_ending, dropped + 1) << "it rests";
    const auto rested = Clock::now() + kRefusedRest + std::chrono::milliseconds(20);
    ASSERT_TRUE(turn_until({&stranger, &b}, [&] { return Clock::now() > rested; }));
    EXPECT_EQ(stranger.transport().stats().dials, round);
    EXPECT_EQ(stranger.downs_.back().loss, LinkLoss::kTimeout);
    EXPECT_LT(since(start), kSoon + kRefusedRest);
    EXPECT_EQ(b.transport().stats().refused_unknown_key, round);
    EXPECT_EQ(stranger.transport().stats().refused_by_peer, round);
  }
  EXPECT_TRUE(stranger.ups_.empty());
  EXPECT_TRUE(b.received_.empty());
  EXPECT_EQ(b.transport().stats().received, 0U);
}

TEST(ZmqProof, ARefusedDialThatIsSaidMoreToIsRefusedAllTheSame) {
  Peer b;
  Peer stranger({}, Peer::Kind::kStranger);
  stranger.expect(b);
  ASSERT_TRUE(turn_until({&stranger, &b}, [&] {
    stranger.say(b.control(), "let me in");
    return stranger.downs_.size() >= 4;
  }));
  for (const LinkDown& down : stranger.downs_) {
    EXPECT_EQ(down.loss, LinkLoss::kTimeout);
  }
}

TEST(ZmqProof, APeerWithoutKeysIsRefused) {
  Peer b;
  RawSocket raw;
  raw.connect_to(b.control());
  raw.write_all(kSignature + std::string("\3\0NULL", 6) + std::string(48, '\0'));
  EXPECT_TRUE(raw.is_ended());
  ASSERT_TRUE(turn_until({&b}, [&] { return b.transport().stats().refused_no_curve == 1; }));
}

TEST(ZmqProof, AClientWithoutKeysIsNotHeard) {
  Peer b;
  auto client = ZmqClient::connect("tcp://" + b.control().text());
  ASSERT_TRUE(client.has_value()) << client.error().text;
  ASSERT_TRUE(client->send("hello").has_value());
  Peer a;
  link_up(a, b);
  EXPECT_EQ(b.received_.size(), 1U);
  const auto answer = client->receive(milliseconds(30));
  EXPECT_FALSE(answer.has_value() && answer->has_value()) << "nothing, or cut off";
}

/// The protocols before CURVE have no keys: such greetings end the connection.
TEST(ZmqProof, OlderProtocolsAndGarbageAreCutOff) {
  Peer b;
  for (const std::string& words :
       {std::string("GET / HTTP/1.1\r\n\r\n"), std::string("\1\0\6hello!"),
        kSignature + std::string("\1\5\0\0", 4), kSignature + std::string("\0\5\0\0", 4)}) {
    RawSocket raw;
    raw.connect_to(b.control());
    raw.write_all(words + std::string(200, '\0'));
    EXPECT_TRUE(raw.is_ended()) << words;
  }
  Peer a;
  link_up(a, b);
  EXPECT_EQ(b.received_.size(), 1U);
}

TEST(ZmqProof, WhoHasAnotherKeyThanExpectedGetsNoLink) {
  Peer a;
  Peer b;
  a.expect_anything(b.control());
  for (std::size_t round = 1; round <= 20; ++round) {
    const auto start = Clock::now();
    a.say(b.control(), "secret");
    ASSERT_TRUE(turn_until({&a, &b}, [&] { return a.downs_.size() == round; }));
    EXPECT_EQ(a.downs_.back().loss, LinkLoss::kUnproven);
    EXPECT_LT(since(start), kSoon);
    ASSERT_TRUE(turn_until({&b}, [&] { return b.transport().stats().refused_malformed == round; }));
  }
  EXPECT_TRUE(a.ups_.empty());
  EXPECT_TRUE(b.received_.empty());
}

/// Weak points of the curve, whose shared secret is no secret: libsodium refuses them.
TEST(ZmqProof, AWeakKeyIsNobodys) {
  Peer a;
  Peer b;
  a.transport().expect({b.control(), std::string(kLinkKeyBytes, '\0')});
  a.say(b.control(), "secret");
  ASSERT_TRUE(turn_until({&a, &b}, [&] { return !a.downs_.empty(); }));
  // Its dial ends by itself or by the timeout, whichever comes first.
  EXPECT_NE(a.downs_[0].loss, LinkLoss::kRefused);
  EXPECT_TRUE(b.received_.empty());
}

TEST(ZmqProof, WithoutAnExpectedKeyNothingIsDialled) {
  Peer a;
  Peer b;
  a.transport().expect({b.control(), ""});
  a.say(b.control(), "hello");
  EXPECT_EQ(a.transport().stats().dropped_no_key, 1U);
  EXPECT_EQ(a.transport().stats().dials, 0U);
  ASSERT_TRUE(turn_until({&a}, [&] { return a.downs_.size() == 1; }));
  EXPECT_EQ(a.downs_[0].loss, LinkLoss::kUnproven) << "a seed may try another's key";
  a.transport().dial_with({DialWith::Key::kTicket});
  a.expect(b);
  a.say(b.control(), "I have no ticket");
  EXPECT_EQ(a.transport().stats().dropped_no_key, 2U);
}

TEST(ZmqProof, ANewExpectedKeyIsDialledAnew) {
  Peer a;
  Peer b;
  link_up(a, b);
  a.expect(b);
  a.say(b.control(), "nothing changed");
  EXPECT_EQ(a.transport().stats().dials, 1U);
  a.expect_anything(b.control());
  a.say(b.control(), "to the next owner of that address");
  ASSERT_TRUE(turn_until({&a, &b}, [&] { return !a.downs_.empty(); }));
  EXPECT_EQ(a.transport().stats().dials, 2U);
  EXPECT_NE(b.received_.back().bytes, "to the next owner of that address");
}

TEST(ZmqProof, ATicketComesInAsItselfAndHearsWhoItDoesNotKnow) {
  Peer b;
  Newcomer newcomer;
  b.transport().admit({newcomer.ticket.public_key, ticket_of(newcomer.ticket)});
  newcomer.peer.expect(b);
  newcomer.peer.say(b.control(), "join");
  ASSERT_TRUE(turn_until({&newcomer.peer, &b}, [&] { return !b.received_.empty(); }));
  EXPECT_EQ(b.received_[0].sender, ticket_of(newcomer.ticket));
  b.transport().reply({b.received_[0].route, "welcome"});
  ASSERT_TRUE(turn_until({&newcomer.peer, &b}, [&] { return !newcomer.peer.received_.empty(); }));
  EXPECT_EQ(newcomer.peer.received_[0].sender, Sender());
  newcomer.peer.meet(b);
  b.transport().reply({b.received_[0].route, "once more"});
  ASSERT_TRUE(
      turn_until({&newcomer.peer, &b}, [&] { return newcomer.peer.received_.size() == 2; }));
  EXPECT_EQ(newcomer.peer.received_[1].sender, b.host());
}

TEST(ZmqProof, ANewcomerThatIsInDialsAnewAsAHost) {
  Peer b;
  Newcomer newcomer;
  Peer& a = newcomer.peer;
  b.transport().admit({newcomer.ticket.public_key, ticket_of(newcomer.ticket)});
  a.expect(b);
  a.say(b.control(), "join");
  ASSERT_TRUE(turn_until({&a, &b}, [&] { return !b.received_.empty(); }));
  b.meet(a);
  a.transport().dial_with({DialWith::Key::kLink});
  a.say(b.control(), "here I am");
  ASSERT_TRUE(turn_until({&a, &b}, [&] { return b.received_.size() == 2; }));
  EXPECT_EQ(b.received_[1].sender, a.host());
  a.transport().dial_with({DialWith::Key::kLink});
  EXPECT_EQ(a.transport().stats().dials, 2U) << "nothing changed";
  EXPECT_TRUE(a.downs_.empty());
}

TEST(ZmqProof, WhoAKeyIsMayChangeWhileItIsConnected) {
  Peer a;
  Peer b;
  link_up(a, b);
  Sender other = a.host();
  other.host = HostId::from_bytes("sixteen bytes...");
  b.transport().admit({a.key(), other});
  a.say(b.control(), "again");
  ASSERT_TRUE(turn_until({&a, &b}, [&] { return b.received_.size() == 2; }));
  EXPECT_EQ(b.received_[1].sender, other);
}

TEST(ZmqProof, ARevokedKeyIsThrownOutAndStaysOut) {
  Peer a;
  Peer b;
  Peer c;
  link_up(a, b);
  link_up(c, b);
  const Route route = b.received_[0].route;
  a.ups_.clear();
  const auto start = Clock::now();
  b.revoke(a.key());
  ASSERT_TRUE(turn_until({&a, &b, &c}, [&] { return !a.downs_.empty(); }));
  EXPECT_LT(since(start), kSoon);
  EXPECT_EQ(a.downs_[0].loss, LinkLoss::kReset);
  b.transport().reply({route, "nothing for it"});
  EXPECT_EQ(b.transport().stats().dropped_no_route, 1U);
  const std::size_t heard = b.received_.size();
  a.say(b.control(), "let me in again");
  ASSERT_TRUE(turn_until({&a, &b, &c}, [&] { return a.downs_.size() == 2; }));
  EXPECT_EQ(a.downs_[1].loss, LinkLoss::kTimeout);
  EXPECT_TRUE(a.ups_.empty());
  EXPECT_EQ(b.received_.size(), heard);
  EXPECT_TRUE(c.downs_.empty());
  link_up(c, b);
}

TEST(ZmqProof, ARevokedKeyIsNotDialledAnyMore) {
  Peer a;
  Peer b;
  link_up(a, b);
  const Route route = b.received_[0].route;
  a.revoke(b.key());
  ASSERT_TRUE(turn_until({&a, &b}, [&] {
    b.transport().reply({route, "are you there?"});
    return b.transport().stats().dropped_no_route > 0;
  })) << "the link is dropped";
  EXPECT_TRUE(a.received_.empty());
  a.say(b.control(), "hello?");
  EXPECT_EQ(a.transport().stats().dropped_no_key, 1U);
  EXPECT_EQ(a.transport().stats().dials, 1U);
}

/// A connection that carried no message has shown no descriptor: it ends at its first message.
TEST(ZmqProof, ARevokedKeyThatWasSilentIsThrownOutWhenItSpeaks) {
  Peer b;
  const LinkKeys keys = LinkKeys::make();
  CurveDealer silent(b, keys, CurveDealer::When::kUp);
  ASSERT_TRUE(turn_until(
      {&b}, [&] { return (silent.socket.get(zmq::sockopt::events) & ZMQ_POLLOUT) != 0; }));
  b.revoke(keys.public_key);
  silent.socket.send(zmq::str_buffer("hello"), zmq::send_flags::none);
  ASSERT_TRUE(turn_until({&b}, [&] { return b.transport().stats().dropped_unproven == 1; }));
  EXPECT_TRUE(b.received_.empty());
  ASSERT_TRUE(turn_until({&b}, [&] {
    return (silent.socket.get(zmq::sockopt::events) & ZMQ_POLLOUT) == 0;
  })) << "the connection lives on";
}

TEST(ZmqProof, WhoDoesNotListenCanStillDial) {
  const int before = listeners();
  ZmqTransport::Options options;
  options.listens = false;
  options.link = LinkKeys::make();
  const std::string key = options.link.public_key;
  auto opened = ZmqTransport::open(options);
  ASSERT_TRUE(opened.has_value()) << opened.error().text;
  EXPECT_TRUE((*opened)->control_endpoint().is_none());
  EXPECT_TRUE((*opened)->bulk_endpoint().is_none());
  EXPECT_EQ(listeners(), before);
  Peer b;
  EXPECT_EQ(listeners(), before + 2);
  Sender sender;
  sender.kind = Sender::Kind::kTicket;
  sender.ticket = key;
  b.transport().admit({key, sender});
  (*opened)->expect({b.control(), b.key()});
  (*opened)->send({b.control(), Channel::kControl, "hello"});
  ASSERT_TRUE(turn_until({&b}, [&] {
    (*opened)->wait(milliseconds(1));
    (*opened)->take_inputs();
    return !b.received_.empty();
  }));
  EXPECT_EQ(b.received_[0].sender, sender);
}

TEST(ZmqProof, ATransportWithoutKeysDoesNotOpen) {
  ZmqTransport::Options options;
  options.control = any_port();
  options.bulk = any_port();
  const auto opened = ZmqTransport::open(options);
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().code, ErrorCode::kInvalid);
}

using ZmqProofOfLogin = DirectoryTest;

TEST_F(ZmqProofOfLogin, TheKernelSaysWhoIsAtTheSocketOfTheCli) {
  ZmqTransport::Options options;
  options.ipc_path = path();
  Peer agent(options);
  auto client = ZmqClient::connect("ipc://" + path());
  ASSERT_TRUE(client.has_value()) << client.error().text;
  ASSERT_TRUE(client->send("hello").has_value());
  ASSERT_TRUE(turn_until({&agent}, [&] { return !agent.received_.empty(); }));
  Sender login;
  login.kind = Sender::Kind::kLogin;
  login.uid = getuid();
  EXPECT_EQ(agent.received_[0].sender, login);
  EXPECT_EQ(agent.transport().stats().refused_no_curve, 0U);
}

}  // namespace
}  // namespace muster::gossip
