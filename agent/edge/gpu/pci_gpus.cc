#include "agent/edge/gpu/pci_gpus.h"

#include <algorithm>
#include <filesystem>

#include "agent/edge/gpu/nvml_reader.h"
#include "agent/edge/grant/supervise_protocol.h"
#include "agent/hardware/machine_reading.h"

namespace muster::agent {

std::vector<std::string> pci_gpus(const std::string& directory) {
  static constexpr std::string_view kNvidia = "0x10de";
  static constexpr std::string_view kDisplays = "0x03";
  std::vector<std::string> ids;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    const std::string vendor = read_file(entry.path() / "vendor").value_or("");
    const std::string kind = read_file(entry.path() / "class").value_or("");
    std::string id = pci_id_of(entry.path().filename().string());
    if (vendor.starts_with(kNvidia) && kind.starts_with(kDisplays) && !id.empty()) {
      ids.push_back(std::move(id));
    }
  }
  std::sort(ids.begin(), ids.end());
  ids.resize(std::min(ids.size(), kGpusReadMax));
  return ids;
}

}  // namespace muster::agent
