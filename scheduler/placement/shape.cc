#include "scheduler/placement/shape.h"

#include <algorithm>
#include <bit>

namespace muster::scheduler {
namespace {

bool contains_all(const std::vector<std::string>& all, const std::vector<std::string>& some) {
  return std::includes(all.begin(), all.end(), some.begin(), some.end());
}

bool contains_any(const std::vector<std::string>& all, const std::vector<std::string>& some) {
  return std::any_of(some.begin(), some.end(), [&](const std::string& each) {
    return std::binary_search(all.begin(), all.end(), each);
  });
}

/// Units that the GPUs alone hold. A host without CPUs holds no ranks without GPUs.
std::uint64_t gpu_units(const Shape& shape, const HostKind& kind, const HostSpace& space) {
  if (shape.share == 0) {
    return kind.cpus_a_rank == 0 ? 0 : std::min(shape.units, kHostUnitsMax);
  }
  if (shape.share == kWholeGpu) {
    return shape.pack == Pack::kIsland ? space.islands.front() : space.free_gpus();
  }
  std::uint64_t units = std::uint64_t{space.free_gpus()} * (kWholeGpu / shape.share);
  for (const std::uint16_t left : space.shared) {
    units += left / shape.share;
  }
  return units;
}

constexpr std::uint64_t kIslandBits = 4;
constexpr std::uint64_t kGpuBits = 12;
constexpr std::uint64_t kAmountBits = 24;

/// Appends `value`, or the highest number that fits.
constexpr std::uint64_t packed(std::uint64_t key, std::uint64_t value, std::uint64_t bits) {
  return key << bits | std::min(value, (std::uint64_t{1} << bits) - 1);
}

/// GPUs left in the tightest island that holds all; 15 if no island does.
std::uint64_t island_left(const HostSpace& space, std::uint32_t gpus) {
  std::uint64_t left = 15;
  for (const std::uint16_t free : space.islands) {
    if (free >= gpus) {
      left = std::min<std::uint64_t>(left, free - gpus);
    }
  }
  return left;
}

}  // namespace

std::optional<std::uint32_t> preference(const Shape& shape, const HostKind& kind) {
  if ((!kind.has_namespaces && !shape.takes_bare_hosts) ||
      !contains_all(kind.labels, shape.labels) || contains_any(kind.labels, shape.not_labels)) {
    return std::nullopt;
  }
  if (shape.types.empty()) {
    return 0;
  }
  const auto place = std::find(shape.types.begin(), shape.types.end(), kind.gpu_type);
  if (place == shape.types.end()) {
    return std::nullopt;
  }
  return static_cast<std::uint32_t>(place - shape.types.begin());
}

std::uint32_t cpus_of_unit(const Shape& shape, const HostKind& kind) {
  if (shape.cpus.has_value()) {
    return *shape.cpus;
  }
  return shape.share == 0
             ? kind.cpus_a_rank
             : static_cast<std::uint32_t>(std::uint64_t{kind.cpus_a_gpu} * shape.share / kWholeGpu);
}

std::uint64_t memory_of_unit(const Shape& shape, const HostKind& kind) {
  if (shape.memory_mb.has_value()) {
    return *shape.memory_mb;
  }
  return shape.share == 0 ? kind.memory_mb_a_rank : kind.memory_mb_a_gpu * shape.share / kWholeGpu;
}

std::uint32_t units_in(const Shape& shape, const HostKind& kind, const HostSpace& space) {
  std::uint64_t units = std::min<std::uint64_t>(gpu_units(shape, kind, space), shape.units);
  if (const std::uint32_t cpus = cpus_of_unit(shape, kind); cpus != 0) {
    units = std::min<std::uint64_t>(units, space.cpus / cpus);
  }
  if (const std::uint64_t memory_mb = memory_of_unit(shape, kind); memory_mb != 0) {
    units = std::min(units, space.memory_mb / memory_mb);
  }
  if (shape.per_host != 0) {
    return units >= shape.per_host ? shape.per_host : 0;
  }
  return static_cast<std::uint32_t>(units);
}

std::uint64_t fit_of(const Shape& shape, const HostKind& kind, const HostSpace& space,
                     std::uint32_t units) {
  const std::uint32_t gpus = shape.share == kWholeGpu ? units : 0;
  std::uint64_t key = packed(0, space.free_gpus() - gpus, kGpuBits);
  key = packed(key, shape.share == 0 ? 0 : island_left(space, gpus), kIslandBits);
  key = packed(key, space.cpus - std::uint64_t{cpus_of_unit(shape, kind)} * units, kAmountBits);
  return packed(key, space.memory_mb - memory_of_unit(shape, kind) * units, kAmountBits);
}

}  // namespace muster::scheduler
