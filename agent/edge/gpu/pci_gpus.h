#pragma once
// The GPUs as the kernel lists them on the PCI bus, without a question to their driver.

#include <string>
#include <vector>

namespace muster::agent {

/// "0000:1b:00.0", sorted: the devices below `directory` (/sys/bus/pci/devices) of NVIDIA that
/// compute or draw. Empty if it cannot be read. At most kGpusReadMax.
std::vector<std::string> pci_gpus(const std::string& directory);

}  // namespace muster::agent
