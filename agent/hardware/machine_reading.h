#pragma once
// MachineReading is what one look at the GPUs of this machine found: plain facts, without a
// judgement of them. A prober makes it (agent/edge/gpu), and the pure rules of this room read it.
// An absent optional is a fact that was not read, because the library, the driver or the GPU does
// not tell it.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster::agent {

/// Limits of a reading. Beyond them the reading is refused as a whole.
inline constexpr std::size_t kGpusReadMax = 64;
inline constexpr std::size_t kMigInstancesMax = 8;  ///< Of one GPU.
/// Of one GPU. With all GPUs at their limits a reading still fits into a message.
inline constexpr std::size_t kGpuProcessesMax = 512;
inline constexpr std::size_t kReadingTextBytesMax = 256;
inline constexpr std::size_t kMissingMax = 64;

struct GpuMemory {
  std::uint64_t total_bytes = 0;
  std::uint64_t reserved_bytes = 0;  ///< By the driver itself, in no process.
  std::uint64_t used_bytes = 0;      ///< Without reserved_bytes.
  bool operator==(const GpuMemory&) const = default;
};

/// A process that uses a GPU, numbered in the initial PID namespace.
struct GpuProcess {
  std::uint32_t pid = 0;
  std::optional<std::uint64_t> used_bytes;
  bool operator==(const GpuProcess&) const = default;
};

/// A GPU instance with its compute instance.
struct MigInstance {
  std::string uuid;
  std::uint32_t gpu_instance = 0;
  std::uint32_t compute_instance = 0;
  std::uint32_t slices = 0;  ///< Of the 7 compute slices.
  std::uint64_t memory_bytes = 0;
  bool operator==(const MigInstance&) const = default;
};

/// How near two GPUs are on the PCI bus, from the nearest.
enum class PciAncestor : std::uint8_t {
  kSameBoard = 0,
  kOneSwitch = 1,
  kSwitches = 2,
  kHostBridge = 3,
  kSameNode = 4,  ///< Of one NUMA node.
  kMachine = 5,   ///< Beyond the node.
};

/// The way to another GPU of the same reading.
struct GpuPeer {
  std::uint32_t index = 0;  ///< In MachineReading::gpus.
  std::optional<PciAncestor> ancestor;
  std::uint32_t nvlinks = 0;  ///< Active ones that end at that GPU.
  bool operator==(const GpuPeer&) const = default;
};

struct GpuErrors {
  std::optional<std::uint64_t> ecc_corrected;    ///< Since the driver was loaded.
  std::optional<std::uint64_t> ecc_uncorrected;  ///< Since the driver was loaded.
  std::optional<std::uint32_t> rows_remapped;    ///< Because of uncorrectable errors.
  bool is_remap_pending = false;                 ///< A reset of the GPU carries it out.
  bool has_remap_failed = false;
  bool operator==(const GpuErrors&) const = default;
};

/// The action that the driver asks for.
enum class RecoveryAction : std::uint8_t {
  kNothing = 0,
  kReset = 1,
  kReboot = 2,
  kDrainAndReset = 3,
  kDrain = 4,  ///< Traffic to peers has to end; new work stays away.
};

struct GpuUse {
  std::optional<std::uint32_t> gpu_percent;
  std::optional<std::uint32_t> celsius;
  std::optional<std::uint32_t> milliwatts;
  std::optional<std::uint32_t> sm_mhz;
  std::uint64_t throttle_reasons = 0;  ///< Bits as NVML numbers them.
  bool operator==(const GpuUse&) const = default;
};

struct GpuReading {
  std::string uuid;    ///< "GPU-..."; "" if it could not be read: then `error` says why.
  std::string name;    ///< "NVIDIA H100 80GB HBM3"
  std::string pci_id;  ///< "0000:1b:00.0", lower case.
  std::optional<std::uint32_t> minor;  ///< Of /dev/nvidiaN.
  std::optional<std::uint32_t> numa_node;
  std::optional<GpuMemory> memory;
  /// Its instances, if it is in MIG mode; nullopt = it is not.
  std::optional<std::vector<MigInstance>> mig;
  std::vector<GpuPeer> peers;          ///< To every other GPU that could be asked.
  std::uint32_t switch_nvlinks = 0;    ///< Active NVLinks that end at an NVSwitch.
  std::uint32_t inactive_nvlinks = 0;  ///< Links that the GPU has and that are down.
  std::optional<GpuErrors> errors;
  std::optional<RecoveryAction> recovery;
  GpuUse use;
  std::optional<std::vector<GpuProcess>> processes;
  std::string error;  ///< For people: why this GPU could not be read; "" = it was.
  bool operator==(const GpuReading&) const = default;
};

struct MachineReading {
  std::string driver;            ///< "550.54.15"; "" = not read.
  std::string cuda;              ///< "12.4"; "" = not read.
  std::vector<GpuReading> gpus;  ///< In the order of the library.
  /// Readings that this library does not have, by function name: each turns off one fact.
  std::vector<std::string> missing;
  bool operator==(const MachineReading&) const = default;
};

/// A positional array with a version in front; unknown trailing elements are ignored. Longer texts
/// are cut at kReadingTextBytesMax; the other limits are the caller's duty.
std::string encode(const MachineReading& reading);
/// nullopt if the bytes have another shape or exceed a limit.
std::optional<MachineReading> decode_machine_reading(std::string_view bytes);

}  // namespace muster::agent
