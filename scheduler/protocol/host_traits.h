#pragma once
// What a host is beside its GPUs, CPUs and memory, as its agent says it.

#include <cstdint>
#include <string>
#include <vector>

namespace muster::scheduler {

inline constexpr std::size_t kLabelsMax = 64;        ///< Of one host.
inline constexpr std::uint32_t kHostIslandsMax = 8;  ///< Their numbers are below it.

struct HostTraits {
  /// Of each GPU, in their order, the island it is in, from 0: GPUs that reach each other without
  /// leaving their switch. Empty = one island.
  std::vector<std::uint32_t> islands;
  std::vector<std::string> labels;  ///< "key" or "key=value"; sorted.
  std::string rack;                 ///< "" = not known.
  std::string spine;                ///< Of the network, above racks; "" = not known.
  bool operator==(const HostTraits&) const = default;
};

}  // namespace muster::scheduler
