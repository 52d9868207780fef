// Logins have a limit each and one together; root and the agent's own user have none. Method:
// socket pairs whose uid the test names.

#include "gossip/edge/login_connections.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <map>

#include "gossip/edge/connection_mark.h"
#include "tests/gossip/edge/socket_pair.h"

namespace muster::gossip {
namespace {

constexpr std::uint32_t kOwn = 900;
constexpr std::uint32_t kAnn = 1000;
constexpr std::uint32_t kBen = 1001;

class LoginConnectionsTest : public testing::Test {
 protected:
  void accept(const Pair& pair, std::uint32_t uid) {
    uids_[pair.ends[0]] = uid;
    connections_.on_accepted(pair.ends[0]);
  }
  std::map<int, std::uint32_t> uids_;
  LoginConnections connections_{{kOwn, 2, 3, [this](int fd) -> std::optional<std::uint32_t> {
                                   const auto known = uids_.find(fd);
                                   return known == uids_.end() ? std::nullopt
                                                               : std::optional(known->second);
                                 }}};
};

TEST_F(LoginConnectionsTest, BeyondItsLimitTheNewConnectionOfALoginEnds) {
  std::array<Pair, 4> pairs;
  accept(pairs[0], kAnn);
  accept(pairs[1], kAnn);
  accept(pairs[2], kAnn);
  EXPECT_FALSE(pairs[0].is_ended());
  EXPECT_FALSE(pairs[1].is_ended());
  EXPECT_TRUE(pairs[2].is_ended());
  EXPECT_EQ(connections_.ended(), 1U);
  EXPECT_EQ(connections_.size_of(kAnn), 2U);
  connections_.on_ended(pairs[2].ends[0]);
  EXPECT_EQ(connections_.size_of(kAnn), 2U) << "it was not counted";
  connections_.on_ended(pairs[0].ends[0]);
  accept(pairs[3], kAnn);
  EXPECT_FALSE(pairs[3].is_ended()) << "there is room again";
}

TEST_F(LoginConnectionsTest, AllLoginsTogetherHaveALimit) {
  std::array<Pair, 4> pairs;
  accept(pairs[0], kAnn);
  accept(pairs[1], kAnn);
  accept(pairs[2], kBen);
  accept(pairs[3], kBen);
  EXPECT_FALSE(pairs[2].is_ended());
  EXPECT_TRUE(pairs[3].is_ended());
  EXPECT_EQ(connections_.size(), 3U);
}

TEST_F(LoginConnectionsTest, RootAndTheOwnUserHaveNone) {
  std::array<Pair, 8> pairs;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    accept(pairs[i], i % 2 == 0 ? 0 : kOwn);
    EXPECT_FALSE(pairs[i].is_ended());
  }
  EXPECT_EQ(connections_.size(), 0U);
  Pair ann;
  accept(ann, kAnn);
  EXPECT_FALSE(ann.is_ended());
}

TEST_F(LoginConnectionsTest, ALateEventCountsTheConnectionUnderThatNumberOnce) {
  Pair pair;
  accept(pair, kAnn);  // The event of a connection that is gone; the next one has its number.
  connections_.on_ended(pair.ends[0]);
  accept(pair, kBen);
  accept(pair, kBen);
  EXPECT_EQ(connections_.size_of(kAnn), 0U);
  EXPECT_EQ(connections_.size_of(kBen), 1U);
  connections_.on_accepted(-1);
  EXPECT_EQ(connections_.size(), 1U) << "the descriptor is closed";
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
