// Numbers of tasks: runs, steps and lists.

#include "scheduler/protocol/array_range.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "gossip/base/rng.h"

namespace muster::scheduler {
namespace {

TEST(ArrayRange, IsWrittenInAsFewRunsAsNeedBe) {
  EXPECT_EQ(text_of(range_of({0, 1, 2, 3})), "0-3");
  EXPECT_TRUE(range_of({4, 5, 6}).runs.empty());
  EXPECT_EQ(text_of(range_of({0, 2, 4, 6, 8})), "0-8:2");
  EXPECT_EQ(text_of(range_of({1, 3})), "1,3");
  EXPECT_EQ(text_of(range_of({7})), "7-7");
  EXPECT_EQ(text_of(range_of({1, 3, 5, 6, 7})), "1-5:2,6-7");
}

TEST(ArrayRange, CountsAndFindsAsAListOfItsNumbersDoes) {
  Rng rng(1);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::uint32_t> numbers;
    for (std::uint32_t number = 0; number < 40; ++number) {
      if (rng.chance(350'000)) {
        numbers.push_back(number);
      }
    }
    if (numbers.empty()) {
      continue;
    }
    const ArrayRange range = range_of(numbers);
    ASSERT_TRUE(validate(range).has_value()) << text_of(range);
    ASSERT_EQ(range.length(), numbers.size());
    for (std::uint32_t index = 0; index < 42; ++index) {
      const auto next = std::lower_bound(numbers.begin(), numbers.end(), index);
      ASSERT_EQ(range.holds(index), next != numbers.end() && *next == index);
      ASSERT_EQ(range.at_or_after(index), next == numbers.end() ? range.last + 1 : *next);
    }
  }
}

TEST(ArrayRange, WhatCannotBeIsRefused) {
  const auto is_refused = [](const ArrayRange& range) { return !validate(range).has_value(); };
  EXPECT_TRUE(is_refused({5, 4, 0, {}}));
  EXPECT_TRUE(is_refused({0, 1'000'000, 0, {}})) << "one task too many";
  EXPECT_FALSE(is_refused({0, 1'999'998, 0, {{0, 1'999'998, 2}}}));
  EXPECT_TRUE(is_refused({0, 9, 0, {{0, 9, 2}}})) << "9 is none of them";
  EXPECT_TRUE(is_refused({0, 8, 0, {{0, 8, 0}}}));
  EXPECT_TRUE(is_refused({0, 8, 0, {{0, 4, 2}, {4, 8, 2}}})) << "4 twice";
  EXPECT_TRUE(is_refused({0, 8, 0, {{2, 8, 2}}}));
  EXPECT_TRUE(is_refused({0, 8, 0, {{0, 4, 2}}}));
  EXPECT_TRUE(is_refused({0, 256 * 2, 0, std::vector<TaskRun>(257)}));
}

}  // namespace
}  // namespace muster::scheduler
