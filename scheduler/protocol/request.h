#pragma once
// What a job asks of the hosts: how much of what, on hosts of which kind, how close together. It is
// a part of JobSpec; placement reads it as a Shape.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gossip/base/result.h"
#include "gossip/base/time.h"

namespace muster::scheduler {

/// How close the units of a gang must be. Numbers are the wire's: the larger, the wider apart.
enum class Pack : std::uint8_t {
  kAny = 0,
  kIsland = 1,  ///< Of each host one island; a gang of one host lies in one island.
  kHost = 2,
  kRack = 3,
  kSpine = 4,
};
inline constexpr Pack kPackLast = Pack::kSpine;
/// "any", "island", ...
std::string_view text_of(Pack pack);

/// Labels, types and hosts that a request names, of each.
inline constexpr std::size_t kNamedMax = 64;
inline constexpr std::size_t kNameBytesMax = 255;  ///< Of one of them, and of a host's label.
/// GPUs of a job, or ranks: more, each on a host of its own, would not fit into one entry.
inline constexpr std::uint32_t kGangUnitsMax = 4096;
inline constexpr std::uint32_t kHostUnitsMax = 1024;   ///< Of one host.
inline constexpr std::uint32_t kOneCpu = 1000;         ///< Thousandths.
inline constexpr std::uint32_t kCpusMax = 1'000'000U;  ///< Thousandths: of one unit.
inline constexpr std::uint64_t kMemoryMbMax = std::uint64_t{1} << 40;

/// A unit is a GPU with the CPUs and memory that come with it; without GPUs, a rank with them.
struct Request {
  std::uint32_t gpus = 1;           ///< Of the gang; 0 = none: `ranks` is what is wanted then.
  std::uint32_t gpus_per_host = 0;  ///< Exactly so many on each host; 0 = as they fit.
  std::uint32_t ranks = 0;          ///< Of a gang without GPUs; else 0.
  /// Exactly so many on each host; with GPUs only beside gpus_per_host. 0 = a rank a GPU, or as
  /// they fit.
  std::uint32_t ranks_per_host = 0;
  /// Of a unit. Nothing: of a GPU its share of the host, of a rank one CPU and that CPU's share.
  std::optional<std::uint32_t> cpus{};  ///< Thousandths.
  std::optional<std::uint64_t> memory_mb{};
  std::vector<std::string> gpu_types{};   ///< In order of preference, any case; empty = any.
  std::vector<std::string> labels{};      ///< A host has all of them; sorted.
  std::vector<std::string> not_labels{};  ///< A host has none of them; sorted.
  std::vector<std::string> hosts{};       ///< Only on these, by name or id; sorted; empty = any.
  std::vector<std::string> not_hosts{};   ///< Not on these; sorted.
  Pack pack = Pack::kAny;
  Duration pack_wait{0};  ///< So long after the submit `pack` is only preferred; 0 = never.
  bool operator==(const Request&) const = default;

  std::uint32_t units() const { return gpus != 0 ? gpus : ranks; }
  std::uint32_t units_per_host() const { return gpus != 0 ? gpus_per_host : ranks_per_host; }
};

/// kInvalid says what cannot be: nothing asked for, amounts out of range, numbers that do not go
/// together.
Status validate(const Request& request);

/// "h100" of "H100": types are compared so.
std::string folded(std::string_view type);

}  // namespace muster::scheduler
