#pragma once
// The shape of a request: the needs of each unit, and where units may be. Jobs of one shape are
// equal for placement, so a result for one of them (its ranking, that it does not fit) holds for
// all. Pure rules over a kind and a space; this file does not know hosts.

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/placement/host_space.h"
#include "scheduler/protocol/request.h"

namespace muster::scheduler {

inline constexpr std::uint32_t kUnitsMax = 1U << 20;  ///< Of one job.

/// A unit is a GPU, or a part of one, with the CPUs and memory that come with it; or, where no GPU
/// is asked for, the CPUs and memory of a rank.
struct Shape {
  std::uint32_t units = 1;          ///< 1 to kUnitsMax.
  std::uint32_t per_host = 0;       ///< Units on each host, a divisor of `units`; 0 = as they fit.
  std::uint32_t share = kWholeGpu;  ///< Of a GPU, in thousandths; 0 = no GPU.
  /// Of a unit. nullopt: a GPU gets its share of the host, a rank one CPU and that CPU's share.
  std::optional<std::uint32_t> cpus;  ///< Thousandths.
  std::optional<std::uint64_t> memory_mb;
  /// Folded, in order of preference; empty = any, without preference.
  std::vector<std::string> types;
  std::vector<std::string> labels;      ///< All of them; sorted.
  std::vector<std::string> not_labels;  ///< None of them; sorted.
  // Names, sorted. Capacity resolves them; units_in() and fit_of() ignore them.
  std::vector<std::string> hosts;  ///< Empty = any.
  std::vector<std::string> not_hosts;
  bool takes_bare_hosts = false;  ///< Hosts without PID namespaces, too.
  Pack pack = Pack::kAny;
  auto operator<=>(const Shape&) const = default;

  bool is_for_one_host() const {
    return pack == Pack::kHost || (pack == Pack::kIsland && per_host == 0);
  }
};

/// The rank of the kind's GPU type among those that are asked for, 0 = best; nullopt if no host of
/// this kind suits the shape.
std::optional<std::uint32_t> preference(const Shape& shape, const HostKind& kind);

/// How many units of the shape the space holds, at most shape.units; with `per_host` that or 0.
/// Precondition: the kind suits the shape.
std::uint32_t units_in(const Shape& shape, const HostKind& kind, const HostSpace& space);

/// The order of spaces for `units` units of the shape (1 <= units <= units_in()), among spaces of
/// equal FillPotential::score() (all are equal while no request is usual): the lowest is used
/// first. It is the specification of that tie, most significant first:
///  12 bits  GPUs left free on the host: the fullest host that holds it
///   4 bits  GPUs left in the tightest island that holds it; 15 = no single island does
///  24 bits  CPUs left, in thousandths
///  24 bits  memory left, in MB
/// A number too large for its bits counts as the largest that fits.
/// Ties: HostSpace, by hash of its content (space_classes.h); then racks and hosts by number.
std::uint64_t fit_of(const Shape& shape, const HostKind& kind, const HostSpace& space,
                     std::uint32_t units);

/// CPUs (thousandths) and memory (MB) that a unit gets on a host of this kind.
std::uint32_t cpus_of_unit(const Shape& shape, const HostKind& kind);
std::uint64_t memory_of_unit(const Shape& shape, const HostKind& kind);

}  // namespace muster::scheduler
