#pragma once
// A member of an attempt: a host, and the GPUs, CPUs and memory of it that the attempt gets.

#include <compare>
#include <cstdint>
#include <vector>

#include "gossip/base/ids.h"
#include "gossip/wire/endpoint.h"
#include "scheduler/protocol/gpu_uuid.h"

namespace muster::scheduler {

/// A place of one GPU. Slot 0 is the whole device; slots 1.. are its slices (MIG).
struct GpuSlot {
  GpuUuid uuid;
  std::uint32_t slot = 0;
  auto operator<=>(const GpuSlot&) const = default;
};

/// One host's share of an attempt.
struct Member {
  HostId host;
  AgentStart start;  ///< The registered pair the log binds this grant to.
  std::vector<GpuSlot> gpus;
  std::uint32_t first_rank = 0;  ///< Its ranks are first_rank .. first_rank + rank_count() - 1.
  std::uint32_t ranks = 0;       ///< 0 = one a GPU.
  // Given with the GPUs, for all ranks of this member together.
  std::uint32_t cpus = 0;  ///< Thousandths.
  std::uint64_t memory_mb = 0;
  bool operator==(const Member&) const = default;

  std::uint32_t rank_count() const {
    return ranks != 0 ? ranks : static_cast<std::uint32_t>(gpus.size());
  }
};

}  // namespace muster::scheduler
