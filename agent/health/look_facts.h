#pragma once
// LookFacts turns looks at one GPU into facts about its health. It remembers what only a row of
// looks can tell: the most NVLinks that were up, how fast ECC errors grow, for how long the clocks
// have been held down. A fact that a look does not tell is left out, and nothing follows from it.
// Pure. Owned by GpuHealth.

#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/hardware/machine_reading.h"
#include "agent/health/health_cause.h"
#include "gossip/base/time.h"

namespace muster::agent {

/// Looks in a row without the GPU, or without an answer of it, before this counts: one can meet a
/// driver that is being loaded.
inline constexpr std::uint32_t kLooksInVain = 2;
/// Uncorrected ECC errors within kEccWindow that mask a GPU. One makes it suspect.
inline constexpr std::uint64_t kEccStormErrors = 10;
inline constexpr Duration kEccWindow = std::chrono::hours(24);
inline constexpr std::size_t kEccGrowthsMax = 64;
/// For so long the clocks are held down before it counts, and up before it is over.
inline constexpr Duration kThrottleWindow = std::chrono::minutes(10);
/// Slowdowns by hardware, by heat, and by the power brake, as NVML numbers them. A power limit
/// that software set is the usual state of a busy GPU.
inline constexpr std::uint64_t kThrottleBits = 0x8 | 0x20 | 0x40 | 0x80;

/// The part that is kept over a restart of the agent.
struct LookMemory {
  std::uint32_t links_most = 0;                   ///< NVLinks that were up at once.
  std::optional<std::uint32_t> links_down_least;  ///< That were down at once.
  bool is_remap_failure_told = false;
  bool operator==(const LookMemory&) const = default;
};

class LookFacts {
 public:
  struct Fact {
    HealthCause cause;
    std::string why;  ///< "" if it is over.
    bool operator==(const Fact&) const = default;
  };

  LookFacts() = default;
  explicit LookFacts(LookMemory memory) : memory_(memory) {}

  /// `reading` is about this GPU.
  std::vector<Fact> look(Instant now, const GpuReading& reading);
  /// A look at the machine did not find this GPU.
  std::vector<Fact> look_in_vain();
  /// The GPU was reset or the driver was loaded again: counters begin again.
  void forget_counters();
  /// An operator accepts the GPU as it is: the links of the next look are all that it has.
  void accept_links();

  const LookMemory& memory() const { return memory_; }

 private:
  void links(const GpuReading& reading, std::vector<Fact>& facts);
  void ecc(Instant now, std::uint64_t errors, std::vector<Fact>& facts);
  void throttling(Instant now, std::uint64_t reasons, std::vector<Fact>& facts);

  LookMemory memory_;
  std::uint32_t in_vain_ = 0;
  std::uint32_t unreadable_ = 0;
  std::optional<std::uint64_t> ecc_last_;
  std::deque<std::pair<Instant, std::uint64_t>> ecc_growth_;
  std::optional<std::pair<bool, Instant>> throttled_;  ///< Whether, and since when.
};

}  // namespace muster::agent
