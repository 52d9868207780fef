#pragma once
// Hosts of Raft's unit tests, told apart by a number.

#include <array>
#include <cstdint>

#include "gossip/base/ids.h"

namespace muster::scheduler {

inline HostId host(std::uint8_t number) {
  std::array<std::uint8_t, HostId::kSizeBytes> bytes{};
  bytes[0] = number;
  return HostId(bytes);
}

}  // namespace muster::scheduler
