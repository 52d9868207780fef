#include "agent/edge/gpu/nvml_use.h"

#include <algorithm>
#include <vector>

namespace muster::agent {
namespace {

using nvml::Return;

/// More is no reading of a GPU.
constexpr unsigned kPercentMax = 100;
constexpr unsigned kCelsiusMax = 250;
constexpr unsigned kMilliwattsMax = 10'000'000;
constexpr unsigned kMegahertzMax = 100'000;
constexpr std::uint64_t kMemoryBytesMax = std::uint64_t{1} << 44;

/// False if the call failed. A GPU that is lost, or needs a reset, says so at any of them.
bool took(const NvmlLibrary& library, Return told, GpuReading& gpu) {
  const bool is_fatal = told == Return::kGpuIsLost || told == Return::kResetRequired;
  if (is_fatal && gpu.error.empty()) {
    gpu.error = library.text_of(told);
  }
  return told == Return::kSuccess;
}

std::optional<std::uint32_t> at_most(unsigned value, unsigned max) {
  return value <= max ? std::optional<std::uint32_t>(value) : std::nullopt;
}

void read_memory(const NvmlLibrary& library, nvml::Device device, GpuReading& gpu) {
  if (library.device.memory == nullptr) {
    return;
  }
  nvml::Memory memory{};
  memory.version = nvml::kMemoryVersion;
  const Return told = library.device.memory(device, &memory);
  if (!took(library, told, gpu)) {
    if (gpu.error.empty() && told != Return::kNotSupported) {
      gpu.error = "its memory cannot be read: " + library.text_of(told);
    }
    return;
  }
  if (memory.total > kMemoryBytesMax || memory.reserved > memory.total ||
      memory.used > memory.total - memory.reserved) {
    gpu.error = "its memory makes no sense";
    return;
  }
  gpu.memory = GpuMemory{memory.total, memory.reserved, memory.used};
}

using ProcessCall = Return (*)(nvml::Device, unsigned*, nvml::Process*);

/// False if the library does not tell.
bool add_processes(const NvmlLibrary& library, ProcessCall call, nvml::Device device,
                   GpuReading& gpu, std::vector<GpuProcess>& found) {
  if (call == nullptr) {
    return false;
  }
  std::vector<nvml::Process> processes(kGpuProcessesMax);
  auto count = static_cast<unsigned>(processes.size());
  const Return told = call(device, &count, processes.data());
  if (!took(library, told, gpu) && told != Return::kInsufficientSize) {
    return false;
  }
  processes.resize(std::min<std::size_t>(count, processes.size()));
  for (const nvml::Process& process : processes) {
    const bool is_known = std::any_of(found.begin(), found.end(), [&](const GpuProcess& other) {
      return other.pid == process.pid;
    });
    if (!is_known && found.size() < kGpuProcessesMax) {
      found.push_back({process.pid, process.used_bytes == nvml::kNotAvailable
                                        ? std::nullopt
                                        : std::optional<std::uint64_t>(process.used_bytes)});
    }
  }
  return true;
}

void read_processes(const NvmlLibrary& library, nvml::Device device, GpuReading& gpu) {
  std::vector<GpuProcess> found;
  if (add_processes(library, library.device.compute_processes, device, gpu, found)) {
    add_processes(library, library.device.graphics_processes, device, gpu, found);
    gpu.processes = std::move(found);
  }
}

std::optional<std::uint64_t> ecc_of(const NvmlLibrary& library, nvml::Device device, int severity,
                                    GpuReading& gpu) {
  unsigned long long count = 0;
  const bool is_told =
      library.health.ecc_errors != nullptr &&
      took(library, library.health.ecc_errors(device, severity, nvml::kSinceDriverLoad, &count),
           gpu);
  return is_told ? std::optional<std::uint64_t>(count) : std::nullopt;
}

void read_errors(const NvmlLibrary& library, nvml::Device device, GpuReading& gpu) {
  GpuErrors errors;
  errors.ecc_corrected = ecc_of(library, device, nvml::kCorrected, gpu);
  errors.ecc_uncorrected = ecc_of(library, device, nvml::kUncorrected, gpu);
  unsigned corrected = 0;
  unsigned uncorrected = 0;
  unsigned is_pending = 0;
  unsigned has_failed = 0;
  if (library.health.remapped_rows != nullptr &&
      took(library,
           library.health.remapped_rows(device, &corrected, &uncorrected, &is_pending, &has_failed),
           gpu)) {
    errors.rows_remapped = uncorrected;
    errors.is_remap_pending = is_pending != 0;
    errors.has_remap_failed = has_failed != 0;
  }
  if (errors != GpuErrors{}) {
    gpu.errors = errors;
  }
}

std::optional<RecoveryAction> recovery_of(unsigned value) {
  switch (value) {
    case nvml::kRecoverNothing:
      return RecoveryAction::kNothing;
    case nvml::kRecoverReset:
    case nvml::kRecoverResetBus:
      return RecoveryAction::kReset;
    case nvml::kRecoverReboot:
      return RecoveryAction::kReboot;
    case nvml::kRecoverDrain:
      return RecoveryAction::kDrain;
    case nvml::kRecoverDrainAndReset:
      return RecoveryAction::kDrainAndReset;
    default:
      return std::nullopt;
  }
}

void read_recovery(const NvmlLibrary& library, nvml::Device device, GpuReading& gpu) {
  nvml::FieldValue field{};
  field.field = nvml::kFieldRecoveryAction;
  if (library.health.field_values != nullptr &&
      took(library, library.health.field_values(device, 1, &field), gpu) &&
      field.result == Return::kSuccess && field.value_type == nvml::kValueUnsigned) {
    gpu.recovery = recovery_of(field.value.number);
  }
}

void read_numbers(const NvmlLibrary& library, nvml::Device device, GpuReading& gpu) {
  nvml::Utilization use{};
  if (library.use.utilization != nullptr &&
      took(library, library.use.utilization(device, &use), gpu)) {
    gpu.use.gpu_percent = at_most(use.gpu, kPercentMax);
  }
  unsigned value = 0;
  if (library.use.temperature != nullptr &&
      took(library, library.use.temperature(device, nvml::kSensorGpu, &value), gpu)) {
    gpu.use.celsius = at_most(value, kCelsiusMax);
  }
  if (library.use.power != nullptr && took(library, library.use.power(device, &value), gpu)) {
    gpu.use.milliwatts = at_most(value, kMilliwattsMax);
  }
  if (library.use.clock != nullptr &&
      took(library, library.use.clock(device, nvml::kClockSm, &value), gpu)) {
    gpu.use.sm_mhz = at_most(value, kMegahertzMax);
  }
  unsigned long long reasons = 0;
  if (library.health.throttle_reasons != nullptr &&
      took(library, library.health.throttle_reasons(device, &reasons), gpu)) {
    gpu.use.throttle_reasons = reasons;
  }
}

}  // namespace

void read_use(const NvmlLibrary& library, nvml::Device device, GpuReading& gpu) {
  read_memory(library, device, gpu);
  read_processes(library, device, gpu);
  read_errors(library, device, gpu);
  read_recovery(library, device, gpu);
  read_numbers(library, device, gpu);
}

}  // namespace muster::agent
