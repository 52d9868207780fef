#include "gossip/spread/overlay.h"

#include <algorithm>
#include <utility>

#include "gossip/base/rng.h"

namespace muster::gossip {
namespace {

std::vector<HostId> sorted_without(std::vector<HostId> hosts, HostId self) {
  std::sort(hosts.begin(), hosts.end());
  hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
  std::erase(hosts, self);
  return hosts;
}

/// Every host makes the same choice. A hash of both ends decides, so that not all choose one host.
void choose(HostId subject, const std::vector<HostId>& observers, std::vector<HostId>& chosen) {
  std::vector<std::pair<std::uint64_t, HostId>> places;
  places.reserve(observers.size());
  for (const HostId& observer : observers) {
    places.emplace_back(mix64(subject.prefix() ^ mix64(observer.prefix())), observer);
  }
  std::sort(places.begin(), places.end());
  for (std::size_t i = 0; i < std::min(places.size(), kRingNeighbours); ++i) {
    chosen.push_back(places[i].second);
  }
}

std::vector<HostId> chosen_of(const Ring& ring) {
  std::vector<HostId> chosen;
  choose(ring.subject, ring.observers, chosen);
  if (ring.trusted.size() != ring.observers.size()) {
    choose(ring.subject, ring.trusted, chosen);
  }
  return chosen;
}

}  // namespace

std::vector<HostId> choose_neighbours(const OverlayView& view) {
  if (view.hosts.size() <= kMeshHostsMax) {
    return sorted_without(view.hosts, view.self);
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
