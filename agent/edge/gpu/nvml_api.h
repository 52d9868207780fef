#pragma once
// The binary interface of NVIDIA's management library, libnvidia-ml.so.1, as far as Muster calls
// it: our own declarations of its types, numbers and functions. No file of NVIDIA takes part in the
// build. Names follow this house; the library's names are in nvml_library.cc. All structures have
// the layout of the 64-bit library.

#include <cstddef>
#include <cstdint>

namespace muster::agent::nvml {

// ---- numbers ----

/// The result of a function. A library may return other numbers.
enum class Return : int {
  kSuccess = 0,
  kUninitialized = 1,
  kInvalidArgument = 2,
  kNotSupported = 3,
  kNoPermission = 4,
  kNotFound = 6,
  kInsufficientSize = 7,
  kDriverNotLoaded = 9,
  kTimeout = 10,
  kFunctionNotFound = 13,
  kGpuIsLost = 15,
  kResetRequired = 16,
  kVersionMismatch = 18,
  kUnknown = 999,
};

inline constexpr unsigned kInitWithoutGpus = 1;  ///< Start although the machine has no GPU.

inline constexpr std::size_t kUuidBytes = 96;
inline constexpr std::size_t kNameBytes = 96;
inline constexpr std::size_t kVersionBytes = 80;
/// Links of a GPU that are asked about. Today's GPUs have at most 18.
inline constexpr unsigned kLinksMax = 36;

// The nearest point that two GPUs have in common.
inline constexpr int kSameBoard = 0;
inline constexpr int kOneSwitch = 10;
inline constexpr int kSwitches = 20;
inline constexpr int kHostBridge = 30;
inline constexpr int kSameNode = 40;
inline constexpr int kMachine = 50;

// The other end of an NVLink.
inline constexpr int kRemoteGpu = 0;
inline constexpr int kRemoteSwitch = 2;

inline constexpr unsigned kMigOn = 1;
inline constexpr unsigned kNodeScope = 0;  ///< Of an affinity.
inline constexpr int kCorrected = 0;       ///< Memory errors.
inline constexpr int kUncorrected = 1;
inline constexpr int kSinceDriverLoad = 0;
inline constexpr int kClockSm = 1;
inline constexpr int kSensorGpu = 0;

inline constexpr unsigned kFieldRecoveryAction = 230;
inline constexpr int kValueUnsigned = 1;

// Recovery actions, as the library numbers them.
inline constexpr unsigned kRecoverNothing = 0;
inline constexpr unsigned kRecoverReset = 1;
inline constexpr unsigned kRecoverReboot = 2;
inline constexpr unsigned kRecoverDrain = 3;
inline constexpr unsigned kRecoverDrainAndReset = 4;
inline constexpr unsigned kRecoverResetBus = 5;

inline constexpr unsigned long long kEventXid = 8;
inline constexpr unsigned long long kNotAvailable = ~0ULL;  ///< A size that is not known.
inline constexpr unsigned kNoInstance = ~0U;

// ---- structures ----

struct DeviceTag;
struct EventSetTag;
using Device = DeviceTag*;
using EventSet = EventSetTag*;

struct PciInfo {
  char short_id[16];
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned pci_device;
  unsigned pci_subsystem;
  char id[32];  ///< "00000000:1B:00.0"
};

struct Memory {
  unsigned version;  ///< kMemoryVersion
  unsigned long long total;
  unsigned long long reserved;
  unsigned long long free;
  unsigned long long used;
};
inline constexpr unsigned kMemoryVersion = static_cast<unsigned>(sizeof(Memory)) | 2U << 24;

struct Process {
  unsigned pid;
  unsigned long long used_bytes;
  unsigned gpu_instance;
  unsigned compute_instance;
};

struct MigAttributes {
  unsigned multiprocessors;
  unsigned copy_engines;
  unsigned decoders;
  unsigned encoders;
  unsigned jpegs;
  unsigned ofas;
  unsigned gpu_slices;
  unsigned compute_slices;
  unsigned long long memory_mb;
};

struct Utilization {
  unsigned gpu;
  unsigned memory;
};

struct FieldValue {
  unsigned field;
  unsigned scope;
  long long timestamp;
  long long latency_us;
  int value_type;
  Return result;
  union {
    double real;
    unsigned number;
    unsigned long long large;
  } value;
};

struct EventData {
  Device device;
  unsigned long long type;
  unsigned long long data;
  unsigned gpu_instance;
  unsigned compute_instance;
};

static_assert(sizeof(PciInfo) == 68 && sizeof(Memory) == 40 && sizeof(Process) == 24 &&
              sizeof(MigAttributes) == 40 && sizeof(FieldValue) == 40 && sizeof(EventData) == 32);

// ---- functions; nullptr = the library does not have it ----

struct SystemCalls {
  Return (*init_with_flags)(unsigned flags) = nullptr;
  Return (*init)() = nullptr;
  Return (*shutdown)() = nullptr;
  const char* (*error_text)(Return) = nullptr;
  Return (*driver_version)(char* text, unsigned size) = nullptr;
  Return (*cuda_version)(int* version) = nullptr;  ///< 12040 for 12.4.
  Return (*device_count)(unsigned* count) = nullptr;
  Return (*device_by_index)(unsigned index, Device* device) = nullptr;
  Return (*device_by_pci_id)(const char* id, Device* device) = nullptr;
};

struct DeviceCalls {
  Return (*uuid)(Device, char* text, unsigned size) = nullptr;
  Return (*name)(Device, char* text, unsigned size) = nullptr;
  Return (*pci_info)(Device, PciInfo* info) = nullptr;
  Return (*minor)(Device, unsigned* minor) = nullptr;
  Return (*memory)(Device, Memory* memory) = nullptr;
  /// The NUMA nodes that are nearest, as a bit set of `size` words. The function that tells "the
  /// NUMA node of a device" is another one: it is for GPUs that are nodes themselves.
  Return (*memory_affinity)(Device, unsigned size, unsigned long* nodes, unsigned scope) = nullptr;
  /// Twice the same layout: those that compute, and those that draw.
  Return (*compute_processes)(Device, unsigned* count, Process* processes) = nullptr;
  Return (*graphics_processes)(Device, unsigned* count, Process* processes) = nullptr;
};

struct LinkCalls {
  Return (*common_ancestor)(Device, Device, int* level) = nullptr;
  Return (*nvlink_state)(Device, unsigned link, int* is_active) = nullptr;
  Return (*nvlink_remote)(Device, unsigned link, PciInfo* info) = nullptr;
  Return (*nvlink_remote_type)(Device, unsigned link, int* type) = nullptr;
};

struct MigCalls {
  Return (*mode)(Device, unsigned* now, unsigned* pending) = nullptr;
  Return (*count_max)(Device, unsigned* count) = nullptr;
  Return (*by_index)(Device, unsigned index, Device* instance) = nullptr;
  Return (*gpu_instance)(Device instance, unsigned* id) = nullptr;
  Return (*compute_instance)(Device instance, unsigned* id) = nullptr;
  Return (*attributes)(Device instance, MigAttributes* attributes) = nullptr;
};

struct HealthCalls {
  Return (*ecc_errors)(Device, int severity, int since, unsigned long long* count) = nullptr;
  Return (*remapped_rows)(Device, unsigned* corrected, unsigned* uncorrected, unsigned* is_pending,
                          unsigned* has_failed) = nullptr;
  Return (*field_values)(Device, int count, FieldValue* values) = nullptr;
  Return (*throttle_reasons)(Device, unsigned long long* reasons) = nullptr;
};

struct UseCalls {
  Return (*utilization)(Device, Utilization* use) = nullptr;
  Return (*temperature)(Device, int sensor, unsigned* celsius) = nullptr;
  Return (*power)(Device, unsigned* milliwatts) = nullptr;
  Return (*clock)(Device, int clock, unsigned* mhz) = nullptr;
};

struct EventCalls {
  Return (*create)(EventSet* set) = nullptr;
  Return (*enrol)(Device, unsigned long long types, EventSet set) = nullptr;
  Return (*wait)(EventSet set, EventData* data, unsigned timeout_ms) = nullptr;
  Return (*free)(EventSet set) = nullptr;
};

}  // namespace muster::agent::nvml
