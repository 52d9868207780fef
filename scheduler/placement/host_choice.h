#pragma once
// The hosts for one request: all of its units or none, of one GPU type, on as few hosts as it can,
// and those in as few racks as they can (rack_choice.h). A rule over a ShapeRank; owns nothing.
//
// - A type that is preferred is used if it holds the request in any way; without a preference all
//   types are looked at.
// - What one host holds goes to the best place of the rank (ShapeRank::Place).
// - Else a type at a time: hosts that hold most units are taken whole, most first, until what is
//   left fits on one host; that is the best place for it, in a rack that is used if it has one.
//   Of types: fewer hosts, then fewer units left free on the last one, then the name.
// - Without GPUs the hosts of all types are as of one.
// - With Pack::kRack the same within one rack, with Pack::kSpine within the racks of one spine, and
//   hosts that name none are in none: of all racks the one with fewest hosts used, then
//   with fewest units that it could give, then the lowest number.

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

/// What a choice is made from.
struct Fleet {
  const HostKinds& kinds;
  const SpaceClasses& classes;
  const RackRows& rows;
};

/// Positions of hosts that a job may get, if their class will do.
struct OpenPositions {
  std::vector<std::uint32_t> barred;
  std::optional<std::vector<std::uint32_t>> only;  ///< Nothing: all that are not barred.
};

/// By rack, then position; empty = it does not fit now. The rank must have caught up.
std::vector<HostShare> choose_hosts(const Fleet& fleet, ShapeRank& rank, const OpenPositions& open);

/// The most units of one type that a job of this shape, but of any number of units, could get now.
/// The shape's own number only bounds what is counted of each host.
std::uint32_t most_units(const Fleet& fleet, ShapeRank& rank, const OpenPositions& open);

}  // namespace muster::scheduler
