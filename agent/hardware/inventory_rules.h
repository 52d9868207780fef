#pragma once
// The rules from a reading of the machine to the hardware that its host offers. Pure functions of
// one reading: health and cleanliness are judged elsewhere, over time.

#include <cstdint>
#include <string>
#include <vector>

#include "agent/hardware/machine_reading.h"

namespace muster::agent {

inline constexpr std::size_t kGpusOfferedMax = 16;
inline constexpr std::size_t kOfferNotesMax = 32;

/// The machine as its kernel counts it.
struct MachineSize {
  std::uint32_t cores = 0;
  std::uint64_t memory_mb = 0;
  bool operator==(const MachineSize&) const = default;
};

/// A GPU of the host, of the type that it offers.
struct HostGpu {
  std::string uuid;
  std::uint32_t index = 0;  ///< In MachineReading::gpus.
  std::string why_not;      ///< For people: the reason that it is not offered now; "" = it is.
  bool operator==(const HostGpu&) const = default;
};

/// An instance of a GPU in MIG mode.
struct MigSlot {
  std::string gpu;          ///< The uuid of the whole GPU.
  std::uint32_t index = 0;  ///< Of that GPU, in MachineReading::gpus.
  std::uint32_t slot = 0;   ///< GpuSlot::slot: from 1, by the numbers of the instances.
  MigInstance instance;
  bool operator==(const MigSlot&) const = default;
};

struct HardwareOffer {
  std::string gpu_type;       ///< "" = no GPU.
  std::vector<HostGpu> gpus;  ///< In the order of the reading, at most kGpusOfferedMax.
  /// As HostTraits::islands: one number for each element of `gpus`; empty = one island.
  std::vector<std::uint32_t> islands;
  std::vector<MigSlot> slots;  ///< Of all GPUs in MIG mode. Jobs cannot ask for them.
  std::uint32_t cpus = 0;
  std::uint64_t memory_mb = 0;
  std::vector<std::string> labels;  ///< "cuda=12.4", "driver=550.54.15", "gpu-mem=80G"; sorted.
  /// For people, one line each: the GPUs that are not offered, and why. At most kOfferNotesMax.
  std::vector<std::string> notes;
  bool operator==(const HardwareOffer&) const = default;
};

/// The offer of a machine. The most frequent model is offered (of two equally frequent ones, the
/// one that comes first); GPUs of other models, in MIG mode, without a valid uuid, or beyond
/// kGpusOfferedMax are left out and named in the notes. A GPU whose reading has an error stays in
/// the list with the reason in `why_not`. GPUs with NVLinks to each other, or to NVSwitches, are of
/// one island; without any such link, those below one PCI switch; without such a switch, those of
/// one NUMA node. A machine of more than kHostIslandsMax islands counts as one island.
HardwareOffer offer_of(const MachineReading& reading, const MachineSize& size);

/// The machine less a reserve for its system: 1 core or 2 %, 4 GiB or 2 %, the larger one each. A
/// small machine keeps at least 1 core and half of its memory.
MachineSize allocatable(const MachineSize& size);

}  // namespace muster::agent
