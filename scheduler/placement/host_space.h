#pragma once
// The kind of a host, and its space: the amounts that a request may get, without names of GPUs or
// hosts. Two hosts of one kind with the same space are equal for every request that does not name
// hosts, so placement looks at spaces (space_classes.h) and not at hosts.

#include <algorithm>
#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "scheduler/protocol/host_number.h"

namespace muster::scheduler {

/// A dense number of the capacity index alone: never logged, never sent.
enum class KindNumber : std::uint32_t {};
constexpr std::uint32_t index_of(KindNumber number) {
  return static_cast<std::uint32_t>(number);
}

/// GPUs that reach each other without leaving their switch form an island. A host with more islands
/// counts as one island.
inline constexpr std::size_t kIslandsMax = 8;
/// Maximum of GPUs of a host of which a part is given away.
inline constexpr std::size_t kSharedGpusMax = 16;
inline constexpr std::uint32_t kWholeGpu = 1000;  ///< Thousandths.

/// The kind of a host, independent of what is held of it.
struct HostKind {
  std::string gpu_type;             ///< Folded; "" = it has no GPUs.
  std::vector<std::string> labels;  ///< Sorted, "key=value".
  bool has_namespaces = true;       ///< False: takes only jobs that silence never ends.
  // A GPU's share of the host: given with each GPU unless other amounts are asked for.
  std::uint32_t cpus_a_gpu = 0;  ///< Thousandths.
  std::uint64_t memory_mb_a_gpu = 0;
  // Given to a rank without GPUs, unless other amounts are asked for.
  std::uint32_t cpus_a_rank = 0;  ///< Thousandths.
  std::uint64_t memory_mb_a_rank = 0;
  auto operator<=>(const HostKind&) const = default;
};

struct HostSpace {
  KindNumber kind{};
  std::array<std::uint16_t, kIslandsMax> islands{};    ///< Whole GPUs free in each, most first.
  std::array<std::uint16_t, kSharedGpusMax> shared{};  ///< Thousandths left of each, most first.
  std::uint32_t cpus = 0;                              ///< Thousandths.
  std::uint64_t memory_mb = 0;
  auto operator<=>(const HostSpace&) const = default;

  std::uint32_t free_gpus() const {
    std::uint32_t sum = 0;
    for (const std::uint16_t gpus : islands) {
      sum += gpus;
    }
    return sum;
  }
};

}  // namespace muster::scheduler
