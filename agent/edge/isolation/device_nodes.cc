#include "agent/edge/isolation/device_nodes.h"

#include <dirent.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>

namespace muster::agent {
namespace {

constexpr const char* kOfDriver[] = {"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools",
                                     "/dev/nvidia-modeset"};
constexpr char kRdma[] = "/dev/infiniband";

void add_folder(const std::string& folder, std::vector<DeviceNode>& nodes) {
  DIR* const open_folder = opendir(folder.c_str());
  if (open_folder == nullptr) {
    return;
  }
  std::vector<std::string> names;
  for (const dirent* entry = readdir(open_folder);
       entry != nullptr && names.size() < kRoomDevicesMax; entry = readdir(open_folder)) {
    names.emplace_back(entry->d_name);
  }
  closedir(open_folder);
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    if (const std::optional<DeviceNode> node = device_node(folder + "/" + name)) {
      nodes.push_back(*node);
    }
  }
}

}  // namespace

std::optional<DeviceNode> device_node(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0 || !S_ISCHR(info.st_mode)) {
    return std::nullopt;
  }
  return DeviceNode{path, {major(info.st_rdev), minor(info.st_rdev)}};
}

std::vector<DeviceNode> shared_device_nodes(const std::vector<std::string>& more) {
  std::vector<DeviceNode> nodes;
  for (const char* path : kOfDriver) {
    if (const std::optional<DeviceNode> node = device_node(path)) {
      nodes.push_back(*node);
    }
  }
  add_folder(kRdma, nodes);
  for (const std::string& path : more) {
    if (const std::optional<DeviceNode> node = device_node(path)) {
      nodes.push_back(*node);
    }
  }
  nodes.resize(std::min(nodes.size(), kRoomDevicesMax / 2));
  return nodes;
}

DeviceNode gpu_node(std::uint32_t minor) {
  static constexpr std::uint32_t kNvidiaMajor = 195;
  return {"/dev/nvidia" + std::to_string(minor), {kNvidiaMajor, minor}};
}

}  // namespace muster::agent
