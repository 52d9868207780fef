#pragma once
// The traits of a host beside its GPUs, CPUs and memory, as its agent reports them.

#include <cstdint>
#include <string>
#include <vector>

namespace muster::scheduler {

inline constexpr std::size_t kLabelsMax = 64;        ///< Of one host.
inline constexpr std::uint32_t kHostIslandsMax = 8;  ///< Numbers of islands are below it.

struct HostTraits {
  /// The island of each GPU, from 0, in the order of the GPUs. GPUs of an island reach each other
  /// without leaving their switch. Empty = one island.
  std::vector<std::uint32_t> islands;
  std::vector<std::string> labels;  ///< "key" or "key=value"; sorted.
  std::string rack;                 ///< "" = not known.
  std::string spine;                ///< Level of the network above racks; "" = not known.
  bool operator==(const HostTraits&) const = default;
};

}  // namespace muster::scheduler
