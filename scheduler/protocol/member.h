#pragma once
// Which GPUs of which host are given to an attempt.

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "gossip/base/ids.h"
#include "gossip/wire/endpoint.h"

namespace muster::scheduler {

/// A place of one GPU. Slot 0 is the whole device; slots 1.. are its slices (MIG).
struct GpuSlot {
  std::string uuid;
  std::uint32_t slot = 0;
  auto operator<=>(const GpuSlot&) const = default;
};

/// One host's share of an attempt.
struct Member {
  HostId host;
  AgentStart start;  ///< The registered pair the log binds this grant to.
  std::vector<GpuSlot> gpus;
  std::uint32_t first_rank = 0;  ///< Its ranks are first_rank .. first_rank + gpus.size() - 1.
  bool operator==(const Member&) const = default;
};

}  // namespace muster::scheduler
