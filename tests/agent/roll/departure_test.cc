// When an agent's life is over: told to stop, doubled, or raised. How it leaves, with its goodbye,
// is in node_clients_test.cc.

#include "agent/roll/departure.h"

#include <gtest/gtest.h>

namespace muster::agent {
namespace {

using namespace std::chrono_literals;  // NOLINT: literals only.

const Instant kStart{1000s};
const HostId kSelf = HostId::from_bytes("self____________");
const gossip::Endpoint kOwn = gossip::Endpoint::ipv4(10, 0, 0, 1, 7450);
const gossip::Endpoint kElsewhere = gossip::Endpoint::ipv4(10, 0, 0, 9, 7450);

class DepartureTest : public ::testing::Test {
 protected:
  Departure departure{kSelf, IdWatch(kOwn, Rng(1))};
  IdWatch& ids = departure.ids();
  Outbox outbox{kStart};
};

TEST_F(DepartureTest, WhoLeadsNobodyStopsAtOnce) {
  departure.on_stop_asked(kStart, false);
  EXPECT_EQ(departure.exit_at(kStart, false), kStart);
}

TEST_F(DepartureTest, AStoppedLeaderEndsWhenAnotherLeadsAndNotLater) {
  departure.on_stop_asked(kStart, true);
  EXPECT_EQ(departure.exit_at(kStart + 1ms, true), kStart + kHandOverMax);
  EXPECT_EQ(departure.exit_at(kStart + 1ms, false), kStart + 1ms);
}

TEST_F(DepartureTest, TheHighestGenerationIsTakenOnceNobodyElseCanAnswer) {
  departure.on_raise_asked(Generation(7));
  departure.on_raise_asked(Generation(4));
  ids.seen_at(kStart, kElsewhere);
  departure.on_id_watched(kStart, outbox);
  EXPECT_FALSE(outbox.take().raise_to.has_value());
  ids.tick(kStart + kIdAnswerWait);
  departure.on_id_watched(kStart + kIdAnswerWait, outbox);
  EXPECT_EQ(outbox.take().raise_to, Generation(7));
}

TEST_F(DepartureTest, WhoIsEndingTakesNoGeneration) {
  departure.on_stop_asked(kStart, false);
  departure.on_raise_asked(Generation(7));
  departure.on_id_watched(kStart, outbox);
  EXPECT_FALSE(outbox.take().raise_to.has_value());
}

}  // namespace
}  // namespace muster::agent
