#pragma once
// The packing rule: how much worse a placement leaves its host for the usual requests. The
// potential of a host is the GPU time that stays idle after usual requests filled the host alone,
// over fixed random sequences of them, and in part the fragmentation measure of FGD (Weng et al.,
// "Beware of Fragmentation", USENIX ATC 2023, section 4). A GPU type that is asked for by name more
// than there is of it costs more. Integers only: the same usual requests give the same scores
// everywhere. Owned by CapacityIndex; pure.

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gossip/base/hash_index.h"
#include "scheduler/placement/host_space.h"
#include "scheduler/placement/shape.h"
#include "scheduler/state/popularity.h"

namespace muster::scheduler {

inline constexpr std::uint32_t kScoreBest = 99;
/// Potentials that are remembered. Beyond it all are forgotten, and each is computed again when it
/// is needed, in about ten microseconds.
inline constexpr std::size_t kPotentialsKept = 32'768;

/// A host as this rule sees it.
struct FillHost {
  std::uint32_t type = 0;                            ///< FillPotential::type_of().
  std::uint32_t cpus = 0;                            ///< Free CPUs, in thousandths.
  std::uint32_t cpus_a_gpu = 0;                      ///< HostKind::cpus_a_gpu.
  std::array<std::uint16_t, kSharedGpusMax> gpus{};  ///< Thousandths left of each, most first.
  auto operator<=>(const FillHost&) const = default;
  std::uint32_t idle() const;
  std::uint64_t index_hash() const;
};

/// A request to one host.
struct FillRequest {
  std::uint32_t gpus = 0;
  std::uint32_t share = 0;            ///< Thousandths of each.
  std::optional<std::uint32_t> cpus;  ///< For each, thousandths; nullopt: its share of the host.
  std::uint64_t types = ~std::uint64_t{0};  ///< Bits of the types that suit it; all bits = any.
  std::uint32_t milli() const { return gpus * share; }
  std::uint64_t cpus_on(const FillHost& host) const;
};

bool fits(const FillHost& host, const FillRequest& request);
/// The host after the placement. Precondition: GPUs fit; if CPUs do not, none are left. A share
/// goes to the GPU that is left with least.
FillHost placed(FillHost host, const FillRequest& request);

class FillPotential {
 public:
  /// Precondition: is_of_gpus(usual).
  explicit FillPotential(const Usual& usual);
  /// Whether some usual request wants GPUs.
  static bool is_of_gpus(const Usual& usual);

  std::uint32_t type_of(const std::string& folded) const;
  /// Rounds CPUs down to whole ones: this rule does not distinguish hosts that differ by less.
  FillHost host_of(const HostKind& kind, const HostSpace& space) const;
  /// 0 to kScoreBest, more is better. Precondition: `units` units of the shape fit.
  std::uint32_t score(const Shape& shape, const HostKind& kind, const HostSpace& space,
                      std::uint32_t units);
  /// Precondition: it fits.
  std::uint32_t score(const FillHost& before, const FillRequest& request);

 private:
  void draw_sequences();
  void find_scarce(const Usual& usual);
  std::int64_t potential(const FillHost& host);
  std::int64_t left_idle(const FillHost& host) const;
  std::int64_t fragmented(const FillHost& host) const;

  std::vector<std::string> types_;  ///< Sorted; a type that is not here has their count as number.
  std::vector<std::pair<FillRequest, std::uint64_t>> usual_;  ///< Of GPUs, most first.
  std::uint64_t without_gpus_ = 0;                            ///< Requests; at most as many.
  std::uint64_t usual_count_ = 0;                             ///< Of both.
  std::vector<std::vector<FillRequest>> sequences_;
  std::vector<std::int64_t> scarcity_;  ///< By type, millionths.
  HashIndex<std::pair<FillHost, std::int64_t>> known_;
};

}  // namespace muster::scheduler
