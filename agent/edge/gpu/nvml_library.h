#pragma once
// NvmlLibrary is the management library of the GPUs, loaded into this process. Only probers load
// it, because its calls can hang for ever. It is never unloaded.

#include <string>
#include <vector>

#include "agent/edge/gpu/nvml_api.h"
#include "gossip/base/result.h"

namespace muster::agent {

struct NvmlLibrary {
  nvml::SystemCalls system;
  nvml::DeviceCalls device;
  nvml::LinkCalls links;
  nvml::MigCalls mig;
  nvml::HealthCalls health;
  nvml::UseCalls use;
  nvml::EventCalls events;
  /// The functions that this library lacks, by their newest names. Each turns off one reading.
  std::vector<std::string> missing;

  /// "GPU is lost (15)"
  std::string text_of(nvml::Return code) const;
};

/// Name of the library where the loader finds it.
inline constexpr const char* kNvmlName = "libnvidia-ml.so.1";

/// Loads and starts the library. `path` "" = the one that the loader finds. kNotFound: the loader
/// finds no library, or an old one without a function that finds GPUs, or no driver is there.
/// kDenied: users beside root and this one can write the library at `path`, or a folder on the way.
Result<NvmlLibrary> load_nvml(const std::string& path);

/// kDenied: another user could put another library at `path`.
Status check_library_path(const std::string& path);

}  // namespace muster::agent
