#pragma once
// A connection inside the test.

#include <gtest/gtest.h>
#include <netinet/in.h>
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

/// Both ends of a TCP connection over loopback; the first one was accepted.
struct TcpPair {
  TcpPair() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(bind(listener, any, size), 0);
    EXPECT_EQ(listen(listener, 1), 0);
    EXPECT_EQ(getsockname(listener, any, &size), 0);
    ends[1] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(connect(ends[1], any, size), 0);
    ends[0] = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    close(listener);
  }
  ~TcpPair() {
    close(ends[0]);
    close(ends[1]);
  }
  TcpPair(const TcpPair&) = delete;
  TcpPair& operator=(const TcpPair&) = delete;

  bool is_ended() const {
    char byte = 0;
    return recv(ends[1], &byte, 1, MSG_DONTWAIT) == 0;
  }
  int ends[2] = {-1, -1};
};

}  // namespace muster::gossip
