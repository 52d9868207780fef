#pragma once
// ProbeFrame is a word of a prober to its agent: a length (4 bytes, little endian) and one encoded
// array. The agent's word to a prober is the single byte kLook. The bytes of a prober are bounded
// and checked, because the library in it belongs to others.

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "agent/hardware/machine_reading.h"
#include "gossip/base/result.h"

namespace muster::agent {

/// Asks for one reading.
inline constexpr char kLook = '?';
inline constexpr std::size_t kProbeFrameBytesMax = 1 << 20;

/// The prober cannot read: there is no library, or it refuses to start. It ends by itself.
struct ProbeFailure {
  std::string text;  ///< For people.
  bool operator==(const ProbeFailure&) const = default;
};

/// The library waits for Xids of `gpus` GPUs from now on.
struct EventsReady {
  std::uint32_t gpus = 0;
  bool operator==(const EventsReady&) const = default;
};

/// An Xid as the library's event told it.
struct XidEvent {
  std::string uuid;    ///< Of the GPU; "" if the library could not name it.
  std::string pci_id;  ///< As GpuReading::pci_id; "" if unknown.
  std::uint32_t code = 0;
  std::optional<std::uint32_t> gpu_instance;  ///< Of a GPU in MIG mode.
  std::optional<std::uint32_t> compute_instance;
  bool operator==(const XidEvent&) const = default;
};

using ProbeFrame = std::variant<MachineReading, ProbeFailure, EventsReady, XidEvent>;

/// With the length in front.
std::string encode_frame(const ProbeFrame& frame);
/// Takes the first whole frame off `buffer`. nullopt if the frame is not complete. kInvalid: these
/// are not the bytes of a prober; end it.
Result<std::optional<ProbeFrame>> take_probe_frame(std::string& buffer);

}  // namespace muster::agent
