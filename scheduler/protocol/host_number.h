#pragma once
// The number of a host: hosts in the order in which the log met them, from 0, without gaps. Index
// of dense tables. The same on every voter; never sent to people or agents, who know hosts by id.

#include <cstdint>

namespace muster::scheduler {

enum class HostNumber : std::uint32_t {};
constexpr std::uint32_t index_of(HostNumber number) {
  return static_cast<std::uint32_t>(number);
}

}  // namespace muster::scheduler
