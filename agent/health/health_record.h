#pragma once
// HealthRecord is the part of GpuHealth that outlives the agent and the boot: the open causes, what
// was done about them, and how far the kernel's log was read. One record a host, in its disk's
// identity environment; the bytes are a positional array with a version in front, and unknown
// trailing elements are ignored. Times are stored as ages, because the clock of the machines begins
// again at each boot.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/health/gpu_causes.h"
#include "agent/health/look_facts.h"
#include "gossip/base/time.h"
#include "gossip/base/wall_clock.h"

namespace muster::agent {

/// GPUs that a record may have: those of the machine, and exchanged ones with an open cause.
inline constexpr std::size_t kGpusKnownMax = 128;

struct GpuHealthRecord {
  std::string pci_id;
  LookMemory memory;
  GpuCauses::Open open;
  std::vector<Instant> needs;
  bool operator==(const GpuHealthRecord&) const = default;
};

struct OpenHostCause {
  Instant since{};
  std::string why;
  bool is_booted = false;  ///< The host booted since.
  bool operator==(const OpenHostCause&) const = default;
};

struct HealthRecord {
  std::string boot_id;  ///< Of the boot in which it was written.
  /// The records of the kernel's log up to this number, of that boot, are in it.
  std::uint64_t kernel_sequence = 0;
  std::map<std::string, GpuHealthRecord> gpus;  ///< By uuid.
  std::map<HostCause, OpenHostCause> host;
  bool operator==(const HealthRecord&) const = default;
};

std::string encode(const HealthRecord& record, Instant now, const WallClock& clock);
/// nullopt if the bytes have another shape or exceed a limit. A time of the record is as long ago
/// as the time of day says; no time is later than `now`.
std::optional<HealthRecord> decode_health_record(std::string_view bytes, Instant now,
                                                 const WallClock& clock);

}  // namespace muster::agent
