#pragma once
// The overlay: with which hosts this host exchanges rows. Everyone in a small cluster;
// beyond that a few of each ring of observers. The observer list is in the subject's own row, so
// both ends of such a link know of it without asking, and neighbourhood is symmetric. Three links
// from each ring, at most two of them into one rack, keep the whole connected through the loss of
// any two hosts or of one rack; each link more would only carry more copies of the same news.

#include <vector>

#include "gossip/base/ids.h"

namespace muster::gossip {

/// Up to this many hosts everyone is linked with everyone.
inline constexpr std::size_t kMeshHostsMax = 12;
/// So many observers of a host are its neighbours, and as many more hosts, on the average, have it
/// among theirs. Raised: more copies of each change; lowered: a loss may cut a host off from news
/// until the next audit.
inline constexpr std::size_t kRingNeighbours = 3;
inline constexpr std::size_t kNeighboursMax = 48;

/// Those who watch one host.
struct Ring {
  HostId subject;
  std::vector<HostId> observers;  ///< Without those that are known to be unreachable.
  std::vector<HostId> trusted;    ///< Of these, those that nothing speaks against.
};

struct OverlayView {
  HostId self;
  std::vector<HostId> hosts;  ///< All that did not leave, each once, self among them.
  std::vector<Ring> rings;    ///< The own one, and those that self is in.
};

/// Ascending, without self, at most kNeighboursMax beyond the mesh.
std::vector<HostId> choose_neighbours(const OverlayView& view);

}  // namespace muster::gossip
