#include "scheduler/placement/rack_choice.h"

#include <algorithm>

#include "gossip/base/check.h"

namespace muster::scheduler {

std::vector<std::uint32_t> hosts_by_rack(const std::vector<std::uint32_t>& offered,
                                         std::span<const std::uint32_t> used, std::uint32_t count) {
  std::vector<std::uint32_t> given(offered.size(), 0);
  for (const std::uint32_t rack : used) {
    given[rack] = std::min(offered[rack], count);
    count -= given[rack];
  }
  std::vector<std::uint32_t> racks;
  for (std::uint32_t rack = 0; rack < offered.size(); ++rack) {
    if (offered[rack] != 0 && !std::binary_search(used.begin(), used.end(), rack)) {
      racks.push_back(rack);
    }
  }
  std::stable_sort(racks.begin(), racks.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return offered[a] > offered[b]; });
  for (auto rack = racks.begin(); count != 0; ++rack) {
    CHECK(rack != racks.end());
    if (offered[*rack] >= count) {
      // Racks are in the order of their offers: takes the last that is enough, the first of equals.
      const auto enough = std::partition_point(
          rack, racks.end(), [&](std::uint32_t each) { return offered[each] >= count; });
      const std::uint32_t least = offered[*std::prev(enough)];
      rack = std::partition_point(rack, enough,
                                  [&](std::uint32_t each) { return offered[each] > least; });
    }
    given[*rack] = std::min(offered[*rack], count);
    count -= given[*rack];
  }
  return given;
}

}  // namespace muster::scheduler
