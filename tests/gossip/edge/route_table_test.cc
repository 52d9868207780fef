// Routes name connections, and know which key one proved.

#include "gossip/edge/route_table.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

namespace muster::gossip {
namespace {

/// Both ends of a connection.
struct Pair {
  Pair() { EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0); }
  ~Pair() {
    close(ends[0]);
    close(ends[1]);
  }
  bool is_ended() const {
    char byte = 0;
    return recv(ends[1], &byte, 1, MSG_DONTWAIT) == 0;
  }
  int ends[2] = {-1, -1};
};

TEST(RouteTable, AnIdThatComesBackWithAnotherKeyIsAnotherRoute) {
  RouteTable routes(10);
  const Route first = routes.touch({0, "id"}, "a", -1);
  EXPECT_EQ(routes.touch({0, "id"}, "a", -1), first);
  const Route second = routes.touch({0, "id"}, "b", -1);
  EXPECT_NE(second, first);
  EXPECT_EQ(routes.find(first), nullptr) << "answers to the first one would go to the second";
  EXPECT_NE(routes.find(second), nullptr);
}

TEST(RouteTable, TheConnectionsOfAKeyAreTakenOut) {
  RouteTable routes(10);
  Pair one;
  Pair other;
  const Route taken = routes.touch({0, "1"}, "a", one.ends[0]);
  const Route kept = routes.touch({0, "2"}, "b", other.ends[0]);
  for (const ConnectionMark& connection : routes.take_out("a")) {
    connection.end();
  }
  EXPECT_EQ(routes.find(taken), nullptr);
  EXPECT_NE(routes.find(kept), nullptr);
  EXPECT_TRUE(one.is_ended());
  EXPECT_FALSE(other.is_ended());
}

TEST(ConnectionMark, ADescriptorThatIsAnothersByNowIsLeftAlone) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(listen(listener, 1), 0);
  Pair pair;
  const ConnectionMark mark(pair.ends[0]);
  ASSERT_EQ(dup2(listener, pair.ends[0]), pair.ends[0]);
  mark.end();
  ConnectionMark(pair.ends[0]).end();
  int listens = 0;
  socklen_t size = sizeof listens;
  ASSERT_EQ(getsockopt(listener, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size), 0);
  EXPECT_EQ(listens, 1);
  close(listener);
}

}  // namespace
}  // namespace muster::gossip
