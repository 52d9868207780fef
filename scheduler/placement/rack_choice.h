#pragma once
// Which racks give so many hosts, in as few racks as it can be. A pure rule.

#include <cstdint>
#include <span>
#include <vector>

namespace muster::scheduler {

/// How many hosts each rack gives, by rack number; `count` in all. `offered`: what each could give,
/// at least `count` in all; `used`: racks that are used in any case, ascending.
///
/// First the racks that are used already, the lowest number first. Then the rack that offers fewest
/// of those that offer all that is missing; while none does, the rack that offers most. Ties: the
/// lowest number. Taking the largest leaves the least, so no fewer racks would do.
std::vector<std::uint32_t> hosts_by_rack(const std::vector<std::uint32_t>& offered,
                                         std::span<const std::uint32_t> used, std::uint32_t count);

}  // namespace muster::scheduler
