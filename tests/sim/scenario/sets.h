#pragma once
// The hosts that a set names. Pure: who leads, who votes and what runs where is told.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/sim/scenario/words.h"

namespace muster::sim::scenario {

/// The hosts of a set, ascending; `others` is the set that `rest` leaves out. Roles as they are
/// now: `leader` may be above every host when nobody leads.
struct Roles {
  std::uint32_t leader = 0;
  std::vector<std::uint32_t> voters;
  std::map<std::string, std::vector<std::uint32_t>> gangs;  ///< Hosts of jobs that run. Ascending.
};
std::vector<std::uint32_t> resolve(const HostSet& set, const Scenario& scenario,
                                   const Roles& roles = {},
                                   const std::vector<std::uint32_t>& others = {});

}  // namespace muster::sim::scenario
