// Which connections are ended, in whatever order two listeners' words are heard.

#include "gossip/edge/accepted_connections.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace muster::gossip
