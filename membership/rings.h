#pragma once
// The choice of a host's observers. Up to twelve hosts each host watches all others. Beyond that a
// host's observers are its successors on K pseudo-random rings over the host ids: nobody assigns
// them, each host has about K subjects, and the graph is an expander (Rapid, ATC'18 4.1). The
// subject alone computes its list and writes it into its own row.

#include <cstdint>
#include <string>
#include <vector>

#include "gossip/base/ids.h"
#include "gossip/base/time.h"

namespace muster::membership {

/// Observers of one host. Higher: a verdict survives more dead observers, and costs more probes.
inline constexpr std::size_t kObserversMax = 10;
/// Up to this many hosts each host watches all others.
inline constexpr std::size_t kWatchAllHostsMax = 12;
/// Observers in one rack, so that a rack's loss never takes H with it; one more with few racks.
inline constexpr std::size_t kObserversPerRackMax = 2;
inline constexpr std::size_t kRacksForStrictLimit = 5;

struct Candidate {
  HostId host;
  std::string rack;  ///< "" if it is unknown: no limit applies.
};

/// The observers of `self`, ascending: all candidates up to kWatchAllHostsMax hosts, else
/// kObserversMax. A function of the set of candidates; `self` among them is ignored.
std::vector<HostId> propose_observers(HostId self, const std::vector<Candidate>& candidates);

/// H: the strong claims that make a verdict, ceil(0.7 K); 0 only for K = 0.
std::size_t verdict_threshold(std::size_t observers);
/// L: the claims, weak ones included, that make a suspect, max(1, ceil(0.3 K)).
std::size_t suspect_threshold(std::size_t observers);
/// T = min(5 s, 0.5 s x K): some observer looks every half second.
Duration probe_period(std::size_t observers);

}  // namespace muster::membership
