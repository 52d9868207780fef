#include "agent/edge/gpu/nvml_reader.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "agent/edge/gpu/nvml_use.h"
#include "gossip/base/name.h"

namespace muster::agent {
namespace {

using nvml::Return;

/// Up to the first NUL. "" without a NUL, or if it is no line of text.
template <std::size_t kSize>
std::string text_in(const std::array<char, kSize>& bytes) {
  const auto end = std::find(bytes.begin(), bytes.end(), '\0');
  std::string text(bytes.begin(), end);
  return end == bytes.end() || !is_line_name(text) ? "" : text;
}

std::string system_text(Return (*read)(char*, unsigned)) {
  std::array<char, nvml::kVersionBytes> bytes{};
  if (read == nullptr || read(bytes.data(), bytes.size()) != Return::kSuccess) {
    return "";
  }
  return text_in(bytes);
}

/// "12.4" for 12040.
std::string cuda_of(const nvml::SystemCalls& system) {
  int version = 0;
  if (system.cuda_version == nullptr || system.cuda_version(&version) != Return::kSuccess ||
      version <= 0) {
    return "";
  }
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

void read_identity(const NvmlLibrary& library, nvml::Device device, GpuReading& gpu) {
  nvml::PciInfo pci{};
  if (library.device.pci_info(device, &pci) == Return::kSuccess) {
    gpu.pci_id = pci_id_of(std::string_view(pci.id, strnlen(pci.id, sizeof pci.id)));
  }
  std::array<char, nvml::kNameBytes> name{};
  if (library.device.name != nullptr &&
      library.device.name(device, name.data(), name.size()) == Return::kSuccess) {
    gpu.name = text_in(name);
  }
  unsigned minor = 0;
  if (library.device.minor != nullptr && library.device.minor(device, &minor) == Return::kSuccess) {
    gpu.minor = minor;
  }
  std::array<char, nvml::kUuidBytes> uuid{};
  const Return told = library.device.uuid(device, uuid.data(), uuid.size());
  if (told == Return::kSuccess) {
    const std::string text = text_in(uuid);
    gpu.uuid = is_word_name(text) ? text : "";
  }
  if (gpu.uuid.empty()) {
    gpu.error = "its uuid cannot be read: " +
                (told == Return::kSuccess ? "it makes no sense" : library.text_of(told));
  }
}

GpuPeer& peer_of(GpuReading& gpu, std::uint32_t index) {
  const auto found = std::find_if(gpu.peers.begin(), gpu.peers.end(),
                                  [&](const GpuPeer& peer) { return peer.index == index; });
  return found != gpu.peers.end() ? *found : gpu.peers.emplace_back(GpuPeer{index, {}, 0});
}

std::optional<PciAncestor> ancestor_of(int level) {
  switch (level) {
    case nvml::kSameBoard:
      return PciAncestor::kSameBoard;
    case nvml::kOneSwitch:
      return PciAncestor::kOneSwitch;
    case nvml::kSwitches:
      return PciAncestor::kSwitches;
    case nvml::kHostBridge:
      return PciAncestor::kHostBridge;
    case nvml::kSameNode:
      return PciAncestor::kSameNode;
    case nvml::kMachine:
      return PciAncestor::kMachine;
    default:
      return std::nullopt;
  }
}

void read_ancestors(const NvmlLibrary& library, const std::vector<nvml::Device>& devices,
                    std::uint32_t at, GpuReading& gpu) {
  for (std::uint32_t other = 0; other < devices.size(); ++other) {
    int level = 0;
    if (other == at || devices[other] == nullptr) {
      continue;
    }
    GpuPeer& peer = peer_of(gpu, other);
    if (library.links.common_ancestor != nullptr &&
        library.links.common_ancestor(devices[at], devices[other], &level) == Return::kSuccess) {
      peer.ancestor = ancestor_of(level);
    }
  }
}

/// The other end of an active link. A library that does not tell its kind is old: a link that
/// does not end at one of the GPUs then leads to a switch.
void read_link_end(const NvmlLibrary& library, nvml::Device device, unsigned link,
                   const std::vector<GpuReading>& gpus, GpuReading& gpu) {
  nvml::PciInfo remote{};
  int type = -1;
  const bool has_type = library.links.nvlink_remote_type != nullptr &&
                        library.links.nvlink_remote_type(device, link, &type) == Return::kSuccess;
  std::string id;
  if (library.links.nvlink_remote != nullptr &&
      library.links.nvlink_remote(device, link, &remote) == Return::kSuccess) {
    id = pci_id_of(std::string_view(remote.id, strnlen(remote.id, sizeof remote.id)));
  }
  const auto found = std::find_if(gpus.begin(), gpus.end(), [&](const GpuReading& other) {
    return !id.empty() && other.pci_id == id;
  });
  if (found != gpus.end() && id != gpu.pci_id) {
    ++peer_of(gpu, static_cast<std::uint32_t>(found - gpus.begin())).nvlinks;
  } else if (has_type ? type == nvml::kRemoteSwitch : !id.empty() && id != gpu.pci_id) {
    ++gpu.switch_nvlinks;
  }
}

void read_nvlinks(const NvmlLibrary& library, nvml::Device device,
                  const std::vector<GpuReading>& gpus, GpuReading& gpu) {
  for (unsigned link = 0; library.links.nvlink_state != nullptr && link < nvml::kLinksMax; ++link) {
    int is_active = 0;
    const Return told = library.links.nvlink_state(device, link, &is_active);
    if (told == Return::kInvalidArgument) {
      return;
    }
    if (told != Return::kSuccess) {
      continue;
    }
    if (is_active == 0) {
      ++gpu.inactive_nvlinks;
    } else {
      read_link_end(library, device, link, gpus, gpu);
    }
  }
}

MigInstance read_instance(const NvmlLibrary& library, nvml::Device device) {
  MigInstance instance;
  std::array<char, nvml::kUuidBytes> uuid{};
  if (library.device.uuid(device, uuid.data(), uuid.size()) == Return::kSuccess) {
    const std::string text = text_in(uuid);
    instance.uuid = is_line_name(text) ? text : "";
  }
  if (library.mig.gpu_instance == nullptr ||
      library.mig.gpu_instance(device, &instance.gpu_instance) != Return::kSuccess) {
    instance.gpu_instance = 0;
  }
  if (library.mig.compute_instance == nullptr ||
      library.mig.compute_instance(device, &instance.compute_instance) != Return::kSuccess) {
    instance.compute_instance = 0;
  }
  nvml::MigAttributes attributes{};
  if (library.mig.attributes != nullptr &&
      library.mig.attributes(device, &attributes) == Return::kSuccess) {
    instance.slices = attributes.compute_slices;
    instance.memory_bytes = attributes.memory_mb << 20;
  }
  return instance;
}

void read_mig(const NvmlLibrary& library, nvml::Device device, GpuReading& gpu) {
  unsigned now = 0;
  unsigned pending = 0;
  unsigned count = 0;
  if (library.mig.mode == nullptr || library.mig.mode(device, &now, &pending) != Return::kSuccess ||
      now != nvml::kMigOn) {
    return;
  }
  gpu.mig.emplace();
  if (library.mig.count_max == nullptr || library.mig.by_index == nullptr ||
      library.mig.count_max(device, &count) != Return::kSuccess) {
    return;
  }
  for (unsigned index = 0; index < std::min<std::size_t>(count, kMigInstancesMax); ++index) {
    nvml::Device instance = nullptr;
    if (library.mig.by_index(device, index, &instance) == Return::kSuccess) {
      gpu.mig->push_back(read_instance(library, instance));
    }
  }
}

std::optional<std::uint32_t> numa_node_of(const NvmlLibrary& library, nvml::Device device) {
  static constexpr unsigned kWords = 16;
  static constexpr unsigned kBits = 8 * sizeof(unsigned long);
  std::array<unsigned long, kWords> nodes{};
  if (library.device.memory_affinity == nullptr ||
      library.device.memory_affinity(device, kWords, nodes.data(), nvml::kNodeScope) !=
          Return::kSuccess) {
    return std::nullopt;
  }
  for (unsigned node = 0; node < kWords * kBits; ++node) {
    if ((nodes[node / kBits] >> (node % kBits) & 1) != 0) {
      return node;
    }
  }
  return std::nullopt;
}

Result<std::vector<nvml::Device>> all_handles(const NvmlLibrary& library,
                                              std::vector<GpuReading>& gpus) {
  unsigned count = 0;
  const Return counted = library.system.device_count(&count);
  if (counted != Return::kSuccess) {
    return Error{ErrorCode::kUnavailable,
                 "the GPUs cannot be counted: " + library.text_of(counted)};
  }
  if (count > kGpusReadMax) {
    return Error{ErrorCode::kUnavailable, "the library counts " + std::to_string(count) +
                                              " GPUs, more than " + std::to_string(kGpusReadMax)};
  }
  std::vector<nvml::Device> devices(count, nullptr);
  gpus.resize(count);
  for (unsigned index = 0; index < count; ++index) {
    const Return found = library.system.device_by_index(index, &devices[index]);
    if (found != Return::kSuccess) {
      devices[index] = nullptr;
      gpus[index].error = "it cannot be opened: " + library.text_of(found);
    }
  }
  return devices;
}

std::vector<nvml::Device> some_handles(const NvmlLibrary& library,
                                       const std::vector<std::string>& pci_ids,
                                       std::vector<GpuReading>& gpus) {
  std::vector<nvml::Device> devices(pci_ids.size(), nullptr);
  gpus.resize(pci_ids.size());
  for (std::size_t i = 0; i < pci_ids.size(); ++i) {
    gpus[i].pci_id = pci_ids[i];
    const Return found = library.system.device_by_pci_id == nullptr
                             ? Return::kFunctionNotFound
                             : library.system.device_by_pci_id(pci_ids[i].c_str(), &devices[i]);
    if (found != Return::kSuccess) {
      devices[i] = nullptr;
      gpus[i].error = "it cannot be opened: " + library.text_of(found);
    }
  }
  return devices;
}

}  // namespace

std::string pci_id_of(std::string_view text) {
  static constexpr std::size_t kLong = 16;
  static constexpr std::size_t kShort = 12;
  static constexpr std::string_view kShape = "xxxx:xx:xx.x";
  if (text.size() == kLong) {
    text.remove_prefix(text.starts_with("0000") ? kLong - kShort : 0);
  }
  std::string id;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c =
        text[i] >= 'A' && text[i] <= 'F' ? static_cast<char>(text[i] - 'A' + 'a') : text[i];
    const bool is_digit = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
    // A long domain keeps its eight digits.
    const std::size_t at = i + kShape.size();
    const bool is_front = at < text.size();
    if (is_front                          ? !is_digit
        : kShape[at - text.size()] == 'x' ? !is_digit
                                          : c != kShape[at - text.size()]) {
      return "";
    }
    id += c;
  }
  return text.size() == kShort || text.size() == kLong ? id : "";
}

Result<std::vector<nvml::Device>> find_gpus(const NvmlLibrary& library,
                                            const std::vector<std::string>& pci_ids,
                                            std::vector<GpuReading>& gpus) {
  gpus.clear();
  Result<std::vector<nvml::Device>> devices =
      pci_ids.empty() ? all_handles(library, gpus) : Result(some_handles(library, pci_ids, gpus));
  if (!devices) {
    return devices;
  }
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    if ((*devices)[i] != nullptr) {
      read_identity(library, (*devices)[i], gpus[i]);
    }
  }
  return devices;
}

Result<MachineReading> read_machine(const NvmlLibrary& library,
                                    const std::vector<std::string>& pci_ids) {
  MachineReading reading;
  reading.missing = library.missing;
  reading.driver = system_text(library.system.driver_version);
  reading.cuda = cuda_of(library.system);
  const auto devices = find_gpus(library, pci_ids, reading.gpus);
  if (!devices) {
    return devices.error();
  }
  for (std::uint32_t at = 0; at < devices->size(); ++at) {
    const nvml::Device device = (*devices)[at];
    GpuReading& gpu = reading.gpus[at];
    if (device == nullptr || !gpu.error.empty()) {
      continue;
    }
    gpu.numa_node = numa_node_of(library, device);
    read_mig(library, device, gpu);
    read_ancestors(library, *devices, at, gpu);
    read_nvlinks(library, device, reading.gpus, gpu);
    read_use(library, device, gpu);
  }
  return reading;
}

}  // namespace muster::agent
