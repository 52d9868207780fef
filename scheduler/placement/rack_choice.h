#pragma once
// The choice of the fewest racks that give a number of hosts. A pure rule.

#include <cstdint>
#include <span>
#include <vector>

namespace muster::scheduler {

/// How many hosts each rack gives, by rack number; `count` in all. `offered`: what each could give,
/// at least `count` in all; `used`: racks that are used in any case, ascending.
///
/// Takes the racks that are used already first, the lowest number first. Then it takes the smallest
/// rack that offers all missing hosts; while there is no such rack, the one that offers most. Ties:
/// the lowest number. Taking the largest leaves the least, so fewer racks would not suffice.
std::vector<std::uint32_t> hosts_by_rack(const std::vector<std::uint32_t>& offered,
                                         std::span<const std::uint32_t> used, std::uint32_t count);

}  // namespace muster::scheduler
