#include "agent/front/fleet_pools.h"

#include "scheduler/protocol/request.h"

namespace muster::agent {

FleetPools fleet_pools(const scheduler::State& state) {
  FleetPools fleet;
  for (const auto& [id, host] : state.hosts()) {
    if (!host.keeps_name()) {
      continue;
    }
    fleet.cpus += host.cpus;
    if (!host.gpus.empty()) {
      const std::string type = scheduler::folded(host.gpu_type);
      fleet.gpus[type] += host.gpus.size();
      fleet.names.emplace(type, host.gpu_type);
    }
  }
  return fleet;
}

std::uint64_t size_of_pool(const FleetPools& fleet, const scheduler::State& state,
                           std::string_view pool) {
  if (pool == scheduler::kCpuPool) {
    return fleet.cpus;
  }
  if (pool != scheduler::kOtherPool) {
    const auto found = fleet.gpus.find(pool);
    return found == fleet.gpus.end() ? 0 : found->second;
  }
  std::uint64_t others = 0;
  for (const auto& [type, gpus] : fleet.gpus) {
    others += state.shares().pools().contains(type) ? 0 : gpus;
  }
  return others;
}

std::string name_of_pool(const FleetPools& fleet, std::string_view pool) {
  if (const std::string_view words = scheduler::pool_words(pool); !words.empty()) {
    return std::string(words);
  }
  const auto found = fleet.names.find(pool);
  return found == fleet.names.end() ? std::string(pool) : found->second;
}

}  // namespace muster::agent
