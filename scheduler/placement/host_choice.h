#pragma once
// The choice of hosts for one request: all of its units or none, of one GPU type, on as few hosts
// as possible, in as few racks as possible (rack_choice.h). A rule over a ShapeRank; owns nothing.
//
// - A type that is preferred is used if it holds the request in any way; without a preference all
//   types are looked at.
// - A request that one host holds goes to the best place of the rank (ShapeRank::Place).
// - Else each type is tried: hosts that hold most units are taken whole, most first, until the rest
//   fits on one host. That host is the best place for the rest, in a rack that is used already if
//   it has one there. The best type has fewest hosts, then fewest units left free on the last host,
//   then the lowest name.
// - Without GPUs, hosts of all types count as one type.
// - With Pack::kRack all hosts are in one rack, with Pack::kSpine in the racks of one spine; a host
//   that names no rack or spine is in none. The best rack has fewest hosts used, then fewest units
//   that it could give, then the lowest number.

#include <cstdint>
#include <optional>
#include <vector>

#include "scheduler/placement/host_kinds.h"
#include "scheduler/placement/rack_rows.h"
#include "scheduler/placement/shape_rank.h"
#include "scheduler/placement/space_classes.h"

namespace muster::scheduler {

struct HostShare {
  HostNumber host{};
  std::uint32_t units = 0;
  bool operator==(const HostShare&) const = default;
};

/// The hosts that a choice is made from.
struct Fleet {
  const HostKinds& kinds;
  const SpaceClasses& classes;
  const RackRows& rows;
};

/// Positions of hosts that a job may get, if their class suits it.
struct OpenPositions {
  std::vector<std::uint32_t> barred;
  std::optional<std::vector<std::uint32_t>> only;  ///< nullopt: all that are not barred.
};

/// Shares by rack, then position; empty if the request does not fit now. Precondition: the rank has
/// caught up.
std::vector<HostShare> choose_hosts(const Fleet& fleet, ShapeRank& rank, const OpenPositions& open);

/// The most units of one type that a job of this shape, but of any number of units, could get now.
/// Shape::units only bounds the count of each host.
std::uint32_t most_units(const Fleet& fleet, ShapeRank& rank, const OpenPositions& open);

}  // namespace muster::scheduler
