#include "agent/edge/door/connection_crowd.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>

#include "agent/edge/door/http_core.h"

namespace muster::agent {
namespace {

AddressLimits::Key address(std::uint8_t number) {
  AddressLimits::Key key{};
  key.back() = number;
  return key;
}

TEST(ConnectionCrowd, TheOldestOfTheAddressWithTheMostGoesFirst) {
  ConnectionCrowd crowd;
  std::array<HttpConnection, 6> connections;
  const std::uint8_t addresses[] = {1, 2, 2, 3, 3, 3};
  for (std::size_t at = 0; at < connections.size(); ++at) {
    crowd.add(connections[at], address(addresses[at]), Instant(std::chrono::seconds(at)));
  }
  EXPECT_EQ(crowd.size(), 6U);
  // Of equal ones the oldest: 3 goes, then 1 of address 2, then 4 of 3.
  for (const std::size_t at : {3U, 1U, 4U, 0U, 2U, 5U}) {
    EXPECT_EQ(crowd.first_to_go().connection, &connections[at]) << at;
    EXPECT_EQ(crowd.first_to_go().since, Instant(std::chrono::seconds(at)));
    EXPECT_TRUE(crowd.remove(connections[at]));
  }
  EXPECT_EQ(crowd.size(), 0U);
}

TEST(ConnectionCrowd, AMemberThatLeftMayComeAgainAsTheNewest) {
  ConnectionCrowd crowd;
  std::array<HttpConnection, 2> connections;
  crowd.add(connections[0], address(1), Instant());
  crowd.add(connections[1], address(1), Instant());
  EXPECT_TRUE(crowd.remove(connections[0]));
  EXPECT_FALSE(crowd.remove(connections[0]));
  crowd.add(connections[0], address(1), Instant());
  EXPECT_EQ(crowd.first_to_go().connection, &connections[1]);
}

}  // namespace
}  // namespace muster::agent
