#include "gossip/overlay.h"

#include <algorithm>

#include "gossip/base/rng.h"

namespace muster::gossip {
namespace {

std::vector<HostId> sorted_without(std::vector<HostId> hosts, HostId self) {
  std::sort(hosts.begin(), hosts.end());
  hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
  std::erase(hosts, self);
  return hosts;
}

/// The same for whoever asks. By a hash of both ends, so that nobody is chosen by all.
std::vector<HostId> chosen_of(Ring ring) {
  const auto place = [&](HostId host) {
    return mix64(ring.subject.prefix() ^ mix64(host.prefix()));
  };
  std::sort(ring.observers.begin(), ring.observers.end(),
            [&](HostId left, HostId right) { return place(left) < place(right); });
  if (ring.observers.size() > kRingNeighbours) {
    ring.observers.resize(kRingNeighbours);
  }
  return ring.observers;
}

}  // namespace

std::vector<HostId> choose_neighbours(const OverlayView& view) {
  std::vector<HostId> everyone = sorted_without(view.hosts, view.self);
  if (everyone.size() < kMeshHostsMax) {
    return everyone;
  }
  std::vector<HostId> chosen;
  for (const Ring& ring : view.rings) {
    const std::vector<HostId> observers = chosen_of(ring);
    if (ring.subject == view.self) {
      chosen.insert(chosen.end(), observers.begin(), observers.end());
    } else if (std::find(observers.begin(), observers.end(), view.self) != observers.end()) {
      chosen.push_back(ring.subject);
    }
  }
  chosen = sorted_without(std::move(chosen), view.self);
  if (chosen.size() > kNeighboursMax) {
    chosen.resize(kNeighboursMax);
  }
  return chosen;
}

}  // namespace muster::gossip
