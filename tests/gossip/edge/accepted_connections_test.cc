// Tests of AcceptedConnections: which connections it ends, in any order of two listeners' events.

#include "gossip/edge/accepted_connections.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "tests/gossip/edge/socket_pair.h"

namespace muster::gossip {
namespace {

TEST(AcceptedConnections, AllThatAreThereAreEnded) {
  AcceptedConnections connections;
  Pair one;
  Pair other;
  Pair gone;
  connections.on_accepted(0, one.ends[0]);
  connections.on_accepted(1, other.ends[0]);
  connections.on_accepted(1, gone.ends[0]);
  connections.on_ended(1, gone.ends[0]);
  EXPECT_EQ(connections.size(), 2U);
  connections.end_all();
  EXPECT_TRUE(one.is_ended());
  EXPECT_TRUE(other.is_ended());
  EXPECT_FALSE(gone.is_ended());
  EXPECT_EQ(connections.size(), 0U);
}

TEST(AcceptedConnections, WhatAListenerAcceptsBeforeItClosesIsEndedToo) {
  AcceptedConnections connections;
  connections.end_all();
  connections.end_all();
  Pair late;
  connections.on_closed(0);
  connections.on_accepted(0, late.ends[0]);
  EXPECT_TRUE(late.is_ended()) << "it was to close twice";
  connections.on_closed(0);
  Pair of_the_next;
  connections.on_accepted(0, of_the_next.ends[0]);
  EXPECT_FALSE(of_the_next.is_ended());
  Pair of_another;
  connections.on_accepted(1, of_another.ends[0]);
  EXPECT_TRUE(of_another.is_ended());
  EXPECT_EQ(connections.size(), 1U);
}

TEST(AcceptedConnections, TheEndOfOneIsNotThatOfTheNextUnderItsNumber) {
  AcceptedConnections connections;
  Pair pair;
  connections.on_accepted(0, pair.ends[0]);
  connections.on_accepted(1, pair.ends[0]);
  connections.on_ended(0, pair.ends[0]);
  connections.end_all();
  EXPECT_TRUE(pair.is_ended());
}

/// Sends so many bytes to the peer, and waits until the kernel has sent them.
void say(const TcpPair& pair, std::size_t bytes) {
  const std::string words(bytes, 'x');
  ASSERT_EQ(send(pair.ends[0], words.data(), bytes, 0), static_cast<ssize_t>(bytes));
  const ConnectionMark mark(pair.ends[0]);
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (mark.sent_bytes().value_or(0) < bytes) {
    ASSERT_LT(std::chrono::steady_clock::now(), limit);
  }
}

/// Bytes that a refused peer gets: greeting, WELCOME, ERROR.
constexpr std::size_t kRefusedBytes = 64 + 170 + 20;
/// Bytes that a peer gets which is let in: READY in place of ERROR.
constexpr std::size_t kLetInBytes = 64 + 170 + 67;

TEST(AcceptedConnections, BeyondTheLimitTheOldestUnfinishedOneIsEnded) {
  AcceptedConnections connections(2);
  TcpPair let_in;
  TcpPair refused;
  TcpPair silent;
  TcpPair last;
  say(let_in, kLetInBytes);
  say(refused, kRefusedBytes);
  connections.on_accepted(0, let_in.ends[0]);
  connections.on_accepted(1, refused.ends[0]);
  connections.on_accepted(0, silent.ends[0]);
  EXPECT_EQ(connections.ended_unfinished(), 0U);
  connections.on_accepted(1, last.ends[0]);
  EXPECT_EQ(connections.ended_unfinished(), 1U);
  EXPECT_FALSE(silent.is_ended());
  EXPECT_FALSE(last.is_ended());
  connections.end_all();
  EXPECT_TRUE(silent.is_ended());
}

TEST(AcceptedConnections, WhatHasEndedMakesRoom) {
  AcceptedConnections connections(1);
  TcpPair one;
  TcpPair other;
  connections.on_accepted(0, one.ends[0]);
  EXPECT_EQ(connections.on_ended(0, one.ends[0]), "127.0.0.1");
  EXPECT_EQ(connections.on_ended(0, one.ends[0]), "");
  connections.on_accepted(0, other.ends[0]);
  EXPECT_EQ(connections.ended_unfinished(), 0U);
  EXPECT_FALSE(one.is_ended());
  EXPECT_EQ(connections.size(), 1U);
}

}  // namespace
}  // namespace muster::gossip
