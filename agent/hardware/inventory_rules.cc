#include "agent/hardware/inventory_rules.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "agent/hardware/gpu_islands.h"
#include "agent/hardware/gpu_type.h"
#include "gossip/base/name.h"
#include "scheduler/protocol/gpu_uuid.h"
#include "scheduler/protocol/host_traits.h"

namespace muster::agent {
namespace {

constexpr std::uint32_t kReservePercent = 2;
constexpr std::uint32_t kCoresReservedMin = 1;
constexpr std::uint32_t kCoresOfferedMin = 1;
constexpr std::uint64_t kMemoryReservedMinMb = 4096;
constexpr std::uint64_t kGibibyte = std::uint64_t{1} << 30;

template <class T>
T two_percent(T amount) {
  return (amount * kReservePercent + 99) / 100;
}

/// "GPU 3 (GPU-1234...)"
std::string named(const MachineReading& reading, std::size_t index) {
  const std::string& uuid = reading.gpus[index].uuid;
  return "GPU " + std::to_string(index) + (is_word_name(uuid) ? " (" + uuid + ")" : "");
}

void note(HardwareOffer& offer, const std::string& text) {
  if (offer.notes.size() < kOfferNotesMax) {
    offer.notes.push_back(text);
  }
}

bool is_uuid(const std::string& uuid) {
  return uuid.size() <= scheduler::kUuidBytesMax && is_word_name(uuid);
}

/// The reason that the GPU cannot be offered whole at all; "" = it can.
std::string why_not_whole(const MachineReading& reading, std::size_t index) {
  const GpuReading& gpu = reading.gpus[index];
  if (gpu.uuid.empty()) {
    return gpu.error.empty() ? "it has no uuid" : gpu.error;
  }
  if (!is_uuid(gpu.uuid)) {
    return "its uuid makes no sense";
  }
  const auto same = [&](const GpuReading& other) { return other.uuid == gpu.uuid; };
  if (std::count_if(reading.gpus.begin(), reading.gpus.end(), same) > 1) {
    return "another GPU has the same uuid";
  }
  if (gpu.mig.has_value()) {
    return "it is in MIG mode";
  }
  return gpu.name.empty() ? "its model is not known" : "";
}

std::string most_frequent(const MachineReading& reading,
                          const std::vector<std::uint32_t>& candidates) {
  std::map<std::string, std::size_t> counts;
  for (const std::uint32_t index : candidates) {
    ++counts[gpu_type_of(reading.gpus[index].name)];
  }
  std::string best;
  for (const std::uint32_t index : candidates) {
    std::string type = gpu_type_of(reading.gpus[index].name);
    if (best.empty() || counts[type] > counts[best]) {
      best = std::move(type);
    }
  }
  return best;
}

void add_gpus(const MachineReading& reading, HardwareOffer& offer) {
  std::vector<std::uint32_t> candidates;
  for (std::uint32_t index = 0; index < reading.gpus.size(); ++index) {
    const std::string why = why_not_whole(reading, index);
    if (why.empty()) {
      candidates.push_back(index);
    } else {
      note(offer, named(reading, index) + " is not offered: " + why);
    }
  }
  offer.gpu_type = most_frequent(reading, candidates);
  for (const std::uint32_t index : candidates) {
    const GpuReading& gpu = reading.gpus[index];
    const std::string type = gpu_type_of(gpu.name);
    if (type != offer.gpu_type) {
      note(offer, named(reading, index) + " is not offered: it is of type " + type +
                      ", and a host offers one type, here " + offer.gpu_type);
    } else if (offer.gpus.size() == kGpusOfferedMax) {
      note(offer, named(reading, index) + " is not offered: a host offers at most " +
                      std::to_string(kGpusOfferedMax) + " GPUs");
    } else {
      offer.gpus.push_back({gpu.uuid, index, gpu.error});
      if (!gpu.error.empty()) {
        note(offer, named(reading, index) + " is not offered: " + gpu.error);
      }
    }
  }
}

void add_islands(const MachineReading& reading, HardwareOffer& offer) {
  std::vector<std::uint32_t> chosen;
  for (const HostGpu& gpu : offer.gpus) {
    chosen.push_back(gpu.index);
  }
  offer.islands = islands_of(reading, chosen);
  const auto last = std::max_element(offer.islands.begin(), offer.islands.end());
  if (last != offer.islands.end() && *last >= scheduler::kHostIslandsMax) {
    note(offer, "the GPUs have " + std::to_string(*last + 1) + " islands, more than " +
                    std::to_string(scheduler::kHostIslandsMax) + ": they count as one");
    offer.islands.clear();
  }
}

void add_slots(const MachineReading& reading, HardwareOffer& offer) {
  for (std::uint32_t index = 0; index < reading.gpus.size(); ++index) {
    const GpuReading& gpu = reading.gpus[index];
    if (!gpu.mig.has_value() || !is_uuid(gpu.uuid)) {
      continue;
    }
    std::vector<MigInstance> instances = *gpu.mig;
    std::sort(instances.begin(), instances.end(), [](const MigInstance& a, const MigInstance& b) {
      return std::tie(a.gpu_instance, a.compute_instance) <
             std::tie(b.gpu_instance, b.compute_instance);
    });
    std::uint32_t slot = 0;
    for (MigInstance& instance : instances) {
      offer.slots.push_back({gpu.uuid, index, ++slot, std::move(instance)});
    }
  }
}

void add_label(HardwareOffer& offer, std::string_view key, const std::string& value) {
  const std::string label = std::string(key) + "=" + value;
  if (!value.empty() && is_label(label)) {
    offer.labels.push_back(label);
  }
}

/// "80G": of the GPU that has least, rounded; "" if it was not read.
std::string least_memory(const MachineReading& reading, const HardwareOffer& offer) {
  std::optional<std::uint64_t> least;
  for (const HostGpu& gpu : offer.gpus) {
    const std::optional<GpuMemory>& memory = reading.gpus[gpu.index].memory;
    if (memory.has_value()) {
      least = std::min(least.value_or(memory->total_bytes), memory->total_bytes);
    }
  }
  return least.has_value()
             ? std::to_string(*least / kGibibyte + (*least % kGibibyte) / (kGibibyte / 2)) + "G"
             : "";
}

}  // namespace

MachineSize allocatable(const MachineSize& size) {
  const std::uint32_t cores = std::max(kCoresReservedMin, two_percent(size.cores));
  const std::uint64_t memory_mb = std::max(kMemoryReservedMinMb, two_percent(size.memory_mb));
  return {size.cores > cores ? size.cores - cores : std::min(size.cores, kCoresOfferedMin),
          std::max(size.memory_mb - std::min(size.memory_mb, memory_mb), size.memory_mb / 2)};
}

HardwareOffer offer_of(const MachineReading& reading, const MachineSize& size) {
  HardwareOffer offer;
  const MachineSize offered = allocatable(size);
  offer.cpus = offered.cores;
  offer.memory_mb = offered.memory_mb;
  add_gpus(reading, offer);
  add_islands(reading, offer);
  add_slots(reading, offer);
  add_label(offer, "cuda", reading.cuda);
  add_label(offer, "driver", reading.driver);
  add_label(offer, "gpu-mem", least_memory(reading, offer));
  return offer;
}

}  // namespace muster::agent
