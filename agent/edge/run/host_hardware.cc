#include "agent/edge/run/host_hardware.h"

#include <algorithm>
#include <utility>

#include "agent/edge/host/gpu_inventory.h"
#include "agent/edge/host/kernel_labels.h"

namespace muster::agent {

Result<crdt::Capacity> read_capacity(const std::string& gpus, HostId host,
                                     scheduler::HostTraits& traits) {
  crdt::Capacity capacity;
  if (gpus.empty()) {
    return capacity;
  }
  Result<Inventory> inventory = read_inventory(gpus, host);
  if (!inventory) {
    return inventory.error();
  }
  capacity.gpu_type = inventory->gpu_type;
  capacity.cpus = inventory->cpus;
  capacity.memory_mb = inventory->memory_mb;
  for (const std::string& uuid : inventory->gpus) {
    capacity.gpus.push_back({uuid, true});
  }
  traits.islands = std::move(inventory->traits.islands);
  return capacity;
}

scheduler::HostTraits traits_of(const RunOptions& options) {
  scheduler::HostTraits traits = options.traits;
  for (std::string& fact : kernel_labels()) {
    traits.labels.push_back(std::move(fact));
  }
  std::sort(traits.labels.begin(), traits.labels.end());
  traits.labels.erase(std::unique(traits.labels.begin(), traits.labels.end()), traits.labels.end());
  return traits;
}

}  // namespace muster::agent
