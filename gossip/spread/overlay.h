#pragma once
// The overlay is the set of hosts with which this host exchanges rows: all hosts in a small
// cluster, and a few of each ring of observers in a larger one. The observer list is in the
// subject's own row, so both ends of a link know of it without asking: neighbourhood is symmetric.
// Three links from each ring, at most two of them into one rack, keep the overlay connected through
// the loss of any two hosts or of one rack. A further link only carries more copies of the news.

#include <vector>

#include "gossip/base/ids.h"

namespace muster::gossip {

/// In a cluster of at most so many hosts each is linked with each.
inline constexpr std::size_t kMeshHostsMax = 12;
/// The number of a host's observers that are its neighbours. On average as many other hosts have
/// it among theirs. Raised: more copies of each change. Lowered: a loss may cut a host off from
/// news until the next audit.
inline constexpr std::size_t kRingNeighbours = 3;
inline constexpr std::size_t kNeighboursMax = 48;

/// The observers of one host.
struct Ring {
  HostId subject;
  std::vector<HostId> observers;  ///< Without those that are known to be unreachable.
  std::vector<HostId> trusted;    ///< The observers that are alive to this host.
};

struct OverlayView {
  HostId self;
  std::vector<HostId> hosts;  ///< All that did not leave, each once, self included.
  std::vector<Ring> rings;    ///< The ring of self, and the rings that self is in.
};

/// The neighbours of self, ascending; at most kNeighboursMax in a cluster above kMeshHostsMax.
std::vector<HostId> choose_neighbours(const OverlayView& view);

}  // namespace muster::gossip
