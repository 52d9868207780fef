#pragma once
// Reads the GPUs through the library, into the words of this house. A library's values are checked
// like any bytes of others: text that is no text and numbers out of range are not taken. The error
// of one GPU never loses the others.

#include <string>
#include <vector>

#include "agent/edge/gpu/nvml_library.h"
#include "agent/hardware/machine_reading.h"
#include "gossip/base/result.h"

namespace muster::agent {

/// One look. `pci_ids` = the only GPUs that are touched; empty = all of the library. Peers are read
/// among the GPUs of the look. kUnavailable: the library cannot count its GPUs, or counts more than
/// kGpusReadMax.
Result<MachineReading> read_machine(const NvmlLibrary& library,
                                    const std::vector<std::string>& pci_ids);

/// The handles of the GPUs, in the same order, with nullptr for one that has an error; `gpus` gets
/// one reading each, which has its identity: uuid, name, PCI id, minor, or the error.
Result<std::vector<nvml::Device>> find_gpus(const NvmlLibrary& library,
                                            const std::vector<std::string>& pci_ids,
                                            std::vector<GpuReading>& gpus);

/// "0000:1b:00.0" for "00000000:1B:00.0"; "" if that is not a PCI id.
std::string pci_id_of(std::string_view text);

}  // namespace muster::agent
