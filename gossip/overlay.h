#pragma once
// The overlay: which hosts this host keeps links to and floods rows to (design 4). Everyone in a
// small cluster; beyond that the union of its observers and its subjects. Observer and subject are
// two ends of one relation, so neighbourhood is symmetric, and the rings behind it make the overlay
// an expander: a flood reaches everyone in few hops although nobody has many links.

#include <vector>

#include "gossip/base/ids.h"

namespace muster::gossip {

/// Up to this many hosts everyone is linked with everyone.
inline constexpr std::size_t kMeshHostsMax = 12;
/// Links of one host. Observers and subjects are about ten each; the rest of the budget belongs to
/// the quorum and to short-lived dials.
inline constexpr std::size_t kNeighboursMax = 48;

struct OverlayView {
  HostId self;
  std::vector<HostId> hosts;      ///< All that did not leave; with or without self.
  std::vector<HostId> observers;  ///< Those that watch self.
  std::vector<HostId> subjects;   ///< Those that self watches.
};

/// Ascending, without self, at most kNeighboursMax beyond the mesh.
std::vector<HostId> choose_neighbours(const OverlayView& view);

}  // namespace muster::gossip
