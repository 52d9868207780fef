#include "gossip/base/time_buckets.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

using namespace std::chrono_literals;  // NOLINT: literals only.

TEST(TimeBuckets, EachTimeCountsUpToItsBound) {
  TimeBuckets times;
  for (const Duration time : {Duration(-1s), Duration(0s), Duration(1ms), Duration(2ms),
                              Duration(1s), Duration(1s + 1ns), Duration(1h)}) {
    times.add(time);
  }
  // 1 ms, 4 ms, 16 ms, 64 ms, 250 ms, 1 s, 4 s, 16 s, all.
  EXPECT_EQ(times.up_to(), (std::array<std::uint64_t, 9>{3, 4, 4, 4, 4, 5, 6, 6, 7}));
  EXPECT_EQ(times.sum(), 1h + 2s + 3ms + 1ns);
}

}  // namespace
}  // namespace muster
