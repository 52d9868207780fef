// Logins have a limit each and one together; root and the agent's own user have none.

#include "gossip/edge/login_connections.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "gossip/edge/connection_mark.h"
#include "tests/gossip/edge/socket_pair.h"

namespace muster::gossip {
namespace {

constexpr std::uint32_t kOwn = 900;
constexpr std::uint32_t kAnn = 1000;
constexpr std::uint32_t kBen = 1001;

TEST(LoginConnections, ALoginHasItsLimitAndRoomAgainAfterAnEnd) {
  LoginConnections connections({kOwn, 2, 3});
  EXPECT_TRUE(connections.take(kAnn));
  EXPECT_TRUE(connections.take(kAnn));
  EXPECT_FALSE(connections.take(kAnn));
  EXPECT_EQ(connections.size_of(kAnn), 2U);
  connections.give_back(kAnn);
  EXPECT_EQ(connections.size_of(kAnn), 1U);
  EXPECT_TRUE(connections.take(kAnn)) << "there is room again";
}

TEST(LoginConnections, AllLoginsTogetherHaveALimit) {
  LoginConnections connections({kOwn, 2, 3});
  EXPECT_TRUE(connections.take(kAnn));
  EXPECT_TRUE(connections.take(kAnn));
  EXPECT_TRUE(connections.take(kBen));
  EXPECT_FALSE(connections.take(kBen));
  EXPECT_EQ(connections.size(), 3U);
  connections.give_back(kAnn);
  EXPECT_TRUE(connections.take(kBen));
}

TEST(LoginConnections, RootAndTheOwnUserHaveNone) {
  LoginConnections connections({kOwn, 2, 3});
  for (int i = 0; i < 8; ++i) {
    EXPECT_TRUE(connections.take(i % 2 == 0 ? 0 : kOwn));
  }
  connections.give_back(0);
  connections.give_back(kOwn);
  EXPECT_EQ(connections.size(), 0U);
  EXPECT_TRUE(connections.take(kAnn));
}

TEST(LoginConnections, TheKernelNamesThePeerOfAUnixSocketAlone) {
  const Pair unix_socket;
  const TcpPair tcp;
  EXPECT_EQ(uid_of_peer(unix_socket.ends[0]), geteuid());
  EXPECT_EQ(uid_of_peer(tcp.ends[0]), std::nullopt);
  EXPECT_EQ(uid_of_peer(STDIN_FILENO), std::nullopt);
  EXPECT_EQ(uid_of_peer(-1), std::nullopt);
}

TEST(LoginConnections, AMarkEndsNoOtherConnectionOfTheSameAddresses) {
  Pair other;
  const int fd = other.ends[0];
  int before[2] = {-1, -1};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, before), 0);
  const ConnectionMark mark(before[0]);
  ASSERT_EQ(dup2(fd, before[0]), before[0]);  // The number belongs to another connection now.
  EXPECT_FALSE(mark.end());
  EXPECT_FALSE(other.is_ended());
  EXPECT_TRUE(ConnectionMark(before[0]).end());
  EXPECT_TRUE(other.is_ended());
  close(before[0]);
  close(before[1]);
}

}  // namespace
}  // namespace muster::gossip
