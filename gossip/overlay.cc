#include "gossip/overlay.h"

#include <algorithm>

namespace muster::gossip {
namespace {

std::vector<HostId> sorted_without(std::vector<HostId> hosts, HostId self) {
  std::sort(hosts.begin(), hosts.end());
  hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
  std::erase(hosts, self);
  return hosts;
}

}  // namespace

std::vector<HostId> choose_neighbours(const OverlayView& view) {
  std::vector<HostId> everyone = sorted_without(view.hosts, view.self);
  if (everyone.size() < kMeshHostsMax) {
    return everyone;
  }
  std::vector<HostId> chosen = view.observers;
  chosen.insert(chosen.end(), view.subjects.begin(), view.subjects.end());
  chosen = sorted_without(std::move(chosen), view.self);
  if (chosen.size() > kNeighboursMax) {
    chosen.resize(kNeighboursMax);
  }
  return chosen;
}

}  // namespace muster::gossip
