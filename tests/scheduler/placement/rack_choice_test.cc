// Racks against every set of them.

#include "scheduler/placement/rack_choice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <numeric>

#include "gossip/base/rng.h"

namespace muster::scheduler {
namespace {

TEST(RackChoice, NoFewerRacksWouldDo) {
  Rng rng(1);
  for (int round = 0; round < 3000; ++round) {
    std::vector<std::uint32_t> offered(1 + rng.below(8));
    for (std::uint32_t& hosts : offered) {
      hosts = static_cast<std::uint32_t>(rng.below(6));
    }
    const std::uint32_t all = std::accumulate(offered.begin(), offered.end(), 0U);
    const auto count = static_cast<std::uint32_t>(rng.below(all + 1));
    std::vector<std::uint32_t> used;
    for (std::uint32_t rack = 0; rack < offered.size(); ++rack) {
      if (rng.below(4) == 0) {
        used.push_back(rack);
      }
    }
    const std::vector<std::uint32_t> given = hosts_by_rack(offered, used, count);
    ASSERT_EQ(std::accumulate(given.begin(), given.end(), 0U), count);
    int more = 0;  // Racks beside those that are used.
    for (std::uint32_t rack = 0; rack < offered.size(); ++rack) {
      ASSERT_LE(given[rack], offered[rack]);
      more += given[rack] != 0 && !std::binary_search(used.begin(), used.end(), rack) ? 1 : 0;
    }
    int fewest = 64;
    for (std::uint32_t set = 0; set < std::uint32_t{1} << offered.size(); ++set) {
      std::uint32_t held = 0;
      int beside = 0;
      for (std::uint32_t rack = 0; rack < offered.size(); ++rack) {
        const bool is_used = std::binary_search(used.begin(), used.end(), rack);
        held += is_used || (set >> rack & 1) != 0 ? offered[rack] : 0;
        beside += !is_used && (set >> rack & 1) != 0 ? 1 : 0;
      }
      fewest = held >= count ? std::min(fewest, beside) : fewest;
    }
    ASSERT_EQ(more, fewest);
  }
}

TEST(RackChoice, TheTightestRackThatHoldsItIsTaken) {
  EXPECT_EQ(hosts_by_rack({5, 3, 4, 3}, {}, 3), (std::vector<std::uint32_t>{0, 3, 0, 0}));
  EXPECT_EQ(hosts_by_rack({5, 3, 4, 3}, {}, 8), (std::vector<std::uint32_t>{5, 3, 0, 0}));
  const std::vector<std::uint32_t> used = {3};
  EXPECT_EQ(hosts_by_rack({5, 3, 4, 3}, used, 4), (std::vector<std::uint32_t>{0, 1, 0, 3}));
}

}  // namespace
}  // namespace muster::scheduler
