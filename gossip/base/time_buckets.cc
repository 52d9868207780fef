#include "gossip/base/time_buckets.h"

#include <algorithm>

namespace muster {

void TimeBuckets::add(Duration time) {
  const auto bound = std::lower_bound(kBounds.begin(), kBounds.end(), time);
  ++counts_.at(static_cast<std::size_t>(bound - kBounds.begin()));
  sum_ += std::max(time, Duration::zero());
}

std::array<std::uint64_t, TimeBuckets::kBounds.size() + 1> TimeBuckets::up_to() const {
  auto sums = counts_;
  for (std::size_t i = 1; i < sums.size(); ++i) {
    sums.at(i) += sums.at(i - 1);
  }
  return sums;
}

}  // namespace muster
