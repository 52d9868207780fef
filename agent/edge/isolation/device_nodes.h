#pragma once
// Finds the device nodes of this host that ranks may need.

#include <optional>
#include <string>
#include <vector>

#include "agent/isolation/room_plan.h"

namespace muster::agent {

/// nullopt if the path is no character device.
std::optional<DeviceNode> device_node(const std::string& path);

/// The nodes that every rank on GPUs uses and that name no GPU: the driver's own, those of RDMA,
/// and `more`, the setting room_devices. Of each folder at most kRoomDevicesMax.
std::vector<DeviceNode> shared_device_nodes(const std::vector<std::string>& more);

/// The node of NVIDIA's GPU with this minor, whether it is there or not.
DeviceNode gpu_node(std::uint32_t minor);

}  // namespace muster::agent
