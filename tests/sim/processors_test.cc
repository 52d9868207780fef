// Cores that threads share: turns, slices, what is charged beside them, and what others take.

#include "tests/sim/processors.h"

#include <gtest/gtest.h>

namespace muster::sim {
namespace {

using namespace std::chrono_literals;  // NOLINT: literals only.

Instant at(Duration when) {
  return Instant() + when;
}

PriceList prices(std::uint32_t cores) {
  PriceList list;
  list.cores = cores;
  list.slice = 3ms;
  return list;
}

TEST(Processors, WithoutCoresNothingCostsAnything) {
  EXPECT_FALSE(Processors(PriceList()).is_on());
}

TEST(Processors, ThreadsOfACoreHaveASliceEachInTurn) {
  Processors processors(prices(2));
  EXPECT_EQ(processors.wake(at(1s), 0, Lane::kLoop), at(1s));
  EXPECT_FALSE(processors.wake(at(1s), 2, Lane::kLoop).has_value()) << "the same core's";
  EXPECT_FALSE(processors.wake(at(1s), 0, Lane::kLoop).has_value()) << "it waits already";
  EXPECT_EQ(processors.wake(at(1s), 1, Lane::kCheck), at(1s)) << "another core";
  EXPECT_EQ(processors.turn(at(1s), 0).host, 0U);
  EXPECT_EQ(processors.done(at(1s), 0, 2ms, true), at(1s + 2ms));
  EXPECT_EQ(processors.turn(at(1s + 2ms), 0).host, 0U) << "its slice goes on";
  EXPECT_EQ(processors.done(at(1s + 2ms), 0, 2ms, true), at(1s + 4ms));
  EXPECT_EQ(processors.turn(at(1s + 4ms), 0).host, 2U);
  EXPECT_EQ(processors.done(at(1s + 4ms), 0, 1ms, false), at(1s + 5ms));
  EXPECT_EQ(processors.turn(at(1s + 5ms), 0).host, 0U);
  EXPECT_FALSE(processors.done(at(1s + 5ms), 0, 1ms, false).has_value()) << "nobody waits";
  EXPECT_EQ(processors.wake(at(1s), 0, Lane::kLoop), at(1s + 6ms)) << "the core is busy until then";
}

TEST(Processors, WhatIsChargedComesFirst) {
  Processors processors(prices(1));
  processors.wake(at(0s), 0, Lane::kLoop);
  EXPECT_EQ(processors.charge(at(0s), 1, 5ms), at(5ms));
  EXPECT_EQ(processors.turn(at(0s), 0).at, at(5ms));
}

TEST(Processors, OthersTakeTheirShare) {
  Processors processors(prices(1));
  processors.burden(900);
  EXPECT_EQ(processors.charge(at(0s), 0, 1ms), at(10ms));
  processors.burden(0);
  EXPECT_EQ(processors.charge(at(10ms), 0, 1ms), at(11ms));
}

}  // namespace
}  // namespace muster::sim
