#pragma once
// A connection inside the test.

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

namespace muster::gossip {

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

}  // namespace muster::gossip
