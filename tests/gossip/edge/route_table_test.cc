// Routes name connections, and know which key one proved.

#include "gossip/edge/route_table.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/gossip/edge/socket_pair.h"

namespace muster::gossip {
namespace {

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

TEST(RouteTable, WhoProvedAKeyIsForgottenAndTheCliIsNot) {
  RouteTable routes(10);
  const Route host = routes.touch({0, "1"}, "a", -1);
  const Route login = routes.touch({4, "2"}, "", -1);
  const Route other = routes.touch({1, "3"}, "b", -1);
  routes.forget_proven();
  EXPECT_EQ(routes.find(host), nullptr);
  EXPECT_EQ(routes.find(other), nullptr);
  EXPECT_NE(routes.find(login), nullptr);
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
