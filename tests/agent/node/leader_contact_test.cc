// The agents that were heard lately, and the connection on which an agent is answered.

#include "agent/node/leader_contact.h"

#include <gtest/gtest.h>

namespace muster::agent {
namespace {

using namespace std::chrono_literals;  // NOLINT: literals only.

const Instant kStart{1000s};
const HostId kLeader = HostId::from_bytes("leader__________");
const HostId kNext = HostId::from_bytes("next____________");
constexpr gossip::Route kRoute{7};

TEST(LeaderContact, OnlyALeaderThatSpokeWithinASecondIsHeardLately) {
  LeaderContact contact(NodeOptions{}, {}, Rng(1), kStart);
  EXPECT_TRUE(contact.follow(kStart, kLeader, Term(1), false));
  EXPECT_FALSE(contact.follow(kStart, kLeader, Term(1), true)) << "no news";
  EXPECT_FALSE(contact.has_heard_lately(kStart, kLeader));
  contact.on_heard(kStart, kNext);
  EXPECT_FALSE(contact.has_heard_lately(kStart, kNext));
  contact.on_heard(kStart, kLeader);
  EXPECT_TRUE(contact.has_heard_lately(kStart + kHeardLately, kLeader));
  EXPECT_FALSE(contact.has_heard_lately(kStart + kHeardLately + 1ms, kLeader));
}

TEST(LeaderContact, TheNextLeaderIsHeardByItsOwnWords) {
  LeaderContact contact(NodeOptions{}, {}, Rng(1), kStart);
  contact.follow(kStart, kLeader, Term(1), true);
  EXPECT_TRUE(contact.has_heard_lately(kStart, kLeader));
  EXPECT_TRUE(contact.follow(kStart, kNext, Term(2), false));
  EXPECT_FALSE(contact.has_heard_lately(kStart, kNext));
  EXPECT_FALSE(contact.has_heard_lately(kStart, kLeader));
}

TEST(LeaderContact, AnAgentIsAnsweredOnTheConnectionItSpokeOnLately) {
  LeaderContact contact(NodeOptions{}, {}, Rng(1), kStart);
  EXPECT_EQ(contact.route_to(kStart, kNext, false), gossip::Route());
  contact.on_agent_spoke(kStart, kNext, kRoute);
  EXPECT_EQ(contact.route_to(kStart + kRouteKept, kNext, false), kRoute);
  EXPECT_EQ(contact.route_to(kStart + kRouteKept + 1ms, kNext, false), gossip::Route());
  // A message that was perhaps lost in a dead connection is not sent into it again.
  EXPECT_EQ(contact.route_to(kStart + kRouteFresh, kNext, true), kRoute);
  EXPECT_EQ(contact.route_to(kStart + kRouteFresh + 1ms, kNext, true), gossip::Route());
}

}  // namespace
}  // namespace muster::agent
