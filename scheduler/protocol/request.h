#pragma once
// The request of a job: amounts, kinds of hosts, and how close together its units must be. A part
// of JobSpec; placement reads it as a Shape.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gossip/base/result.h"
#include "gossip/base/time.h"

namespace muster::scheduler {

/// How close the units of a gang must be. Numbers as on the wire: the larger, the wider apart.
enum class Pack : std::uint8_t {
  kAny = 0,
  kIsland = 1,  ///< One island on each host; without units_per_host() on one host.
  kHost = 2,
  kRack = 3,
  kSpine = 4,
};
inline constexpr Pack kPackLast = Pack::kSpine;
/// "any", "island", ...
std::string_view text_of(Pack pack);

/// Labels that a request names; the same limit holds for types and for hosts.
inline constexpr std::size_t kNamedMax = 64;
inline constexpr std::size_t kNameBytesMax = 255;  ///< Of one of them, and of a host's label.
/// GPUs or ranks of a job: more, each on a host of its own, would not fit into one entry.
inline constexpr std::uint32_t kGangUnitsMax = 4096;
inline constexpr std::uint32_t kHostUnitsMax = 1024;   ///< Of one host.
inline constexpr std::uint32_t kOneCpu = 1000;         ///< Thousandths.
inline constexpr std::uint32_t kCpusMax = 1'000'000U;  ///< Thousandths: of one unit.
inline constexpr std::uint64_t kMemoryMbMax = std::uint64_t{1} << 40;

/// A unit is a GPU with the CPUs and memory that come with it; without GPUs it is a rank with them.
struct Request {
  std::uint32_t gpus = 1;           ///< Of the gang; 0 = no GPUs: `ranks` counts its units then.
  std::uint32_t gpus_per_host = 0;  ///< Exactly this many on each host; 0 = as they fit.
  std::uint32_t ranks = 0;          ///< Of a gang without GPUs; else 0.
  /// Exactly this many on each host; with GPUs only beside gpus_per_host. 0 = one rank for each
  /// GPU, or as they fit.
  std::uint32_t ranks_per_host = 0;
  /// Of a unit. nullopt: a GPU gets its share of the host, a rank one CPU and that CPU's share.
  std::optional<std::uint32_t> cpus{};  ///< Thousandths.
  std::optional<std::uint64_t> memory_mb{};
  std::vector<std::string> gpu_types{};   ///< In order of preference, any case; empty = any.
  std::vector<std::string> labels{};      ///< A host has all of them; sorted.
  std::vector<std::string> not_labels{};  ///< A host has none of them; sorted.
  std::vector<std::string> hosts{};       ///< Only on these, by name or id; sorted; empty = any.
  std::vector<std::string> not_hosts{};   ///< Not on these; sorted.
  Pack pack = Pack::kAny;
  Duration pack_wait{0};  ///< Time after the submit until `pack` is only preferred; 0 = never.
  bool operator==(const Request&) const = default;

  std::uint32_t units() const { return gpus != 0 ? gpus : ranks; }
  std::uint32_t units_per_host() const { return gpus != 0 ? gpus_per_host : ranks_per_host; }
};

/// kInvalid if the request is empty, if an amount is out of range, or if two numbers contradict
/// each other.
Status validate(const Request& request);

/// "h100" for "H100": the form in which types are compared.
std::string folded(std::string_view type);

}  // namespace muster::scheduler
