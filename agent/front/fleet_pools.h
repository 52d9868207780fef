#pragma once
// The sizes of the pools that queues share: the GPUs of each type, and the CPUs, of the hosts that
// have not left. Pure functions over State.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "scheduler/state/state.h"

namespace muster::agent {

struct FleetPools {
  scheduler::QueueAmounts gpus;  ///< By folded type; types without a GPU are missing.
  std::uint64_t cpus = 0;
  /// The types as the first host writes them, by folded type.
  std::map<std::string, std::string, std::less<>> names;
};

/// One walk over the hosts.
FleetPools fleet_pools(const scheduler::State& state);
/// GPUs or CPUs. kOtherPool has the GPUs of all types that `state` counts in no pool of their own.
std::uint64_t size_of_pool(const FleetPools& fleet, const scheduler::State& state,
                           std::string_view pool);
/// For people: "H100", "CPUs". A type that no host has now stays folded.
std::string name_of_pool(const FleetPools& fleet, std::string_view pool);

}  // namespace muster::agent
