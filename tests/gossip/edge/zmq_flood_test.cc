// Tests of a transport that many peers dial at once, over real loopback sockets: unfinished
// handshakes, joins, peers without keys.

#include <gtest/gtest.h>

#include <list>

#include "gossip/edge/accepted_connections.h"
#include "gossip/edge/join_pace.h"
#include "tests/gossip/edge/peer.h"

namespace muster::gossip {
namespace {

TEST(ZmqFlood, TheOldestUnfinishedHandshakeMakesRoomAndWhoIsInStays) {
  Peer b;
  CurveDealer member(b, LinkKeys::make(), CurveDealer::When::kUp);
  const auto is_in = [&] { return (member.socket.get(zmq::sockopt::events) & ZMQ_POLLOUT) != 0; };
  ASSERT_TRUE(turn_until({&b}, is_in));
  std::list<RawSocket> silent;
  for (std::size_t i = 0; i < kUnfinishedMax + 1; ++i) {
    silent.emplace_back().connect_to(b.control());
    ASSERT_TRUE(silent.back().hears()) << "it was not accepted";
  }
  ASSERT_TRUE(turn_until({&b}, [&] { return b.transport().stats().ended_unfinished >= 1; }));
  EXPECT_TRUE(silent.front().is_ended());
  EXPECT_TRUE(is_in());
  Peer a;
  link_up(a, b);
}

TEST(ZmqFlood, JoinsThatAreHeldBackSucceedWhenTheyAskAgain) {
  constexpr std::size_t kJoiners = 2 * static_cast<std::size_t>(kJoinsASecond);
  Peer b;
  const LinkKeys ticket = LinkKeys::make();
  Sender sender;
  sender.kind = Sender::Kind::kTicket;
  sender.ticket = ticket.public_key;
  b.transport().admit({ticket.public_key, sender});
  std::list<Peer> joiners;
  for (std::size_t i = 0; i < kJoiners; ++i) {
    ZmqTransport::Options options;
    options.ticket = ticket;
    Peer& joiner = joiners.emplace_back(options, Peer::Kind::kStranger);
    joiner.transport().dial_with({DialWith::Key::kTicket});
    joiner.expect(b);
  }
  const auto is_in = [](const Peer& joiner) { return !joiner.ups_.empty(); };
  ASSERT_TRUE(turn_until({&b}, [&] {
    for (Peer& joiner : joiners) {
      if (!is_in(joiner)) {
        joiner.say(b.control(), "let me join");
        joiner.turn(milliseconds(0));
      }
    }
    return std::all_of(joiners.begin(), joiners.end(), is_in);
  }));
  EXPECT_GT(b.transport().stats().refused_early_tickets, 0U);
  EXPECT_EQ(b.transport().stats().refused_unknown_key, 0U);
}

/// A greeting of ZeroMQ that offers no CURVE.
void come_without_keys(const Peer& to) {
  RawSocket raw;
  raw.connect_to(to.control());
  raw.write_all(std::string("\xff\0\0\0\0\0\0\0\1\x7f\3\0NULL", 16) + std::string(48, '\0'));
  EXPECT_TRUE(raw.is_ended());
}

TEST(ZmqFlood, WhoComesWithoutKeysIsNamedOnce) {
  Peer b;
  std::vector<std::string> named;
  // A peer that is gone before the transport looks at it cannot be named.
  ASSERT_TRUE(turn_until({&b}, [&] {
    come_without_keys(b);
    named = b.transport().take_plain_peers();
    return !named.empty();
  }));
  EXPECT_EQ(named, std::vector<std::string>{"127.0.0.1"});
  const std::uint64_t before = b.transport().stats().refused_no_curve;
  ASSERT_TRUE(turn_until({&b}, [&] {
    come_without_keys(b);
    return b.transport().stats().refused_no_curve >= before + 10;
  }));
  EXPECT_TRUE(b.transport().take_plain_peers().empty());
}

}  // namespace
}  // namespace muster::gossip
