#include "agent/edge/gpu/nvml_library.h"

#include <dlfcn.h>
#include <sys/stat.h>

#include <filesystem>
#include <initializer_list>

#include "agent/edge/own_path.h"

namespace muster::agent {
namespace {

class SymbolTable {
 public:
  SymbolTable(void* handle, std::vector<std::string>& missing)
      : handle_(handle), missing_(missing) {}

  /// The first name that the library has. The versions of one function that are named together
  /// have the same signature.
  template <class Function>
  void find(Function& function, std::initializer_list<const char*> names) const {
    for (const char* name : names) {
      function = reinterpret_cast<Function>(dlsym(handle_, name));
      if (function != nullptr) {
        return;
      }
    }
    missing_.emplace_back(*names.begin());
  }

 private:
  void* handle_;
  std::vector<std::string>& missing_;
};

void find_system(const SymbolTable& table, nvml::SystemCalls& calls) {
  table.find(calls.init_with_flags, {"nvmlInitWithFlags"});
  table.find(calls.init, {"nvmlInit_v2"});
  table.find(calls.shutdown, {"nvmlShutdown"});
  table.find(calls.error_text, {"nvmlErrorString"});
  table.find(calls.driver_version, {"nvmlSystemGetDriverVersion"});
  table.find(calls.cuda_version,
             {"nvmlSystemGetCudaDriverVersion_v2", "nvmlSystemGetCudaDriverVersion"});
  table.find(calls.device_count, {"nvmlDeviceGetCount_v2"});
  table.find(calls.device_by_index, {"nvmlDeviceGetHandleByIndex_v2"});
  table.find(calls.device_by_pci_id, {"nvmlDeviceGetHandleByPciBusId_v2"});
}

void find_device(const SymbolTable& table, nvml::DeviceCalls& calls) {
  table.find(calls.uuid, {"nvmlDeviceGetUUID"});
  table.find(calls.name, {"nvmlDeviceGetName"});
  table.find(calls.pci_info, {"nvmlDeviceGetPciInfo_v3"});
  table.find(calls.minor, {"nvmlDeviceGetMinorNumber"});
  table.find(calls.memory, {"nvmlDeviceGetMemoryInfo_v2"});
  table.find(calls.memory_affinity, {"nvmlDeviceGetMemoryAffinity"});
  table.find(calls.compute_processes, {"nvmlDeviceGetComputeRunningProcesses_v3",
                                       "nvmlDeviceGetComputeRunningProcesses_v2"});
  table.find(calls.graphics_processes, {"nvmlDeviceGetGraphicsRunningProcesses_v3",
                                        "nvmlDeviceGetGraphicsRunningProcesses_v2"});
}

void find_links(const SymbolTable& table, nvml::LinkCalls& calls) {
  table.find(calls.common_ancestor, {"nvmlDeviceGetTopologyCommonAncestor"});
  table.find(calls.nvlink_state, {"nvmlDeviceGetNvLinkState"});
  table.find(calls.nvlink_remote, {"nvmlDeviceGetNvLinkRemotePciInfo_v2"});
  table.find(calls.nvlink_remote_type, {"nvmlDeviceGetNvLinkRemoteDeviceType"});
}

void find_mig(const SymbolTable& table, nvml::MigCalls& calls) {
  table.find(calls.mode, {"nvmlDeviceGetMigMode"});
  table.find(calls.count_max, {"nvmlDeviceGetMaxMigDeviceCount"});
  table.find(calls.by_index, {"nvmlDeviceGetMigDeviceHandleByIndex"});
  table.find(calls.gpu_instance, {"nvmlDeviceGetGpuInstanceId"});
  table.find(calls.compute_instance, {"nvmlDeviceGetComputeInstanceId"});
  table.find(calls.attributes, {"nvmlDeviceGetAttributes_v2"});
}

void find_health(const SymbolTable& table, nvml::HealthCalls& calls) {
  table.find(calls.ecc_errors, {"nvmlDeviceGetTotalEccErrors"});
  table.find(calls.remapped_rows, {"nvmlDeviceGetRemappedRows"});
  table.find(calls.field_values, {"nvmlDeviceGetFieldValues"});
  table.find(calls.throttle_reasons, {"nvmlDeviceGetCurrentClocksEventReasons",
                                      "nvmlDeviceGetCurrentClocksThrottleReasons"});
}

void find_use(const SymbolTable& table, nvml::UseCalls& calls) {
  table.find(calls.utilization, {"nvmlDeviceGetUtilizationRates"});
  table.find(calls.temperature, {"nvmlDeviceGetTemperature"});
  table.find(calls.power, {"nvmlDeviceGetPowerUsage"});
  table.find(calls.clock, {"nvmlDeviceGetClockInfo"});
}

void find_events(const SymbolTable& table, nvml::EventCalls& calls) {
  table.find(calls.create, {"nvmlEventSetCreate"});
  table.find(calls.enrol, {"nvmlDeviceRegisterEvents"});
  table.find(calls.wait, {"nvmlEventSetWait_v2"});
  table.find(calls.free, {"nvmlEventSetFree"});
}

/// Without these no GPU can be found.
bool is_usable(const NvmlLibrary& library) {
  return (library.system.init_with_flags != nullptr || library.system.init != nullptr) &&
         library.system.device_count != nullptr && library.system.device_by_index != nullptr &&
         library.device.uuid != nullptr && library.device.pci_info != nullptr;
}

/// The GPUs themselves are set up by the first question about each, so one that hangs does not
/// keep the library from starting.
nvml::Return start(const nvml::SystemCalls& system) {
  return system.init_with_flags != nullptr ? system.init_with_flags(nvml::kInitWithoutGpus)
                                           : system.init();
}

}  // namespace

std::string NvmlLibrary::text_of(nvml::Return code) const {
  const char* text = system.error_text == nullptr ? nullptr : system.error_text(code);
  return std::string(text == nullptr ? "error" : text) + " (" +
         std::to_string(static_cast<int>(code)) + ")";
}

Status check_library_path(const std::string& path) {
  if (const Status own = check_own_path(path); !own) {
    return own;
  }
  std::error_code error;
  const std::filesystem::path real = std::filesystem::weakly_canonical(path, error);
  for (std::filesystem::path part = real; !error; part = part.parent_path()) {
    struct stat facts {};
    const bool is_there = stat(part.c_str(), &facts) == 0;
    const bool is_sticky = S_ISDIR(facts.st_mode) && (facts.st_mode & S_ISVTX) != 0;
    if (is_there && (facts.st_mode & (S_IWGRP | S_IWOTH)) != 0 && !is_sticky) {
      return Error{ErrorCode::kDenied, part.string() +
                                           " can be written by other users of this machine, who "
                                           "could put another library there: chmod go-w it"};
    }
    if (part == part.parent_path()) {
      break;
    }
  }
  return ok();
}

Result<NvmlLibrary> load_nvml(const std::string& path) {
  if (!path.empty()) {
    if (const Status checked = check_library_path(path); !checked) {
      return checked.error();
    }
  }
  void* handle = dlopen(path.empty() ? kNvmlName : path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* why = dlerror();
    return Error{ErrorCode::kNotFound, "cannot load NVIDIA's management library: " +
                                           std::string(why == nullptr ? "no reason given" : why)};
  }
  NvmlLibrary library;
  const SymbolTable table(handle, library.missing);
  find_system(table, library.system);
  find_device(table, library.device);
  find_links(table, library.links);
  find_mig(table, library.mig);
  find_health(table, library.health);
  find_use(table, library.use);
  find_events(table, library.events);
  if (!is_usable(library)) {
    return Error{ErrorCode::kNotFound,
                 "NVIDIA's management library is too old: it has no " + library.missing.front()};
  }
  const nvml::Return started = start(library.system);
  if (started != nvml::Return::kSuccess) {
    return Error{ErrorCode::kNotFound,
                 "NVIDIA's management library does not start: " + library.text_of(started)};
  }
  return library;
}

}  // namespace muster::agent
