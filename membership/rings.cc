#include "membership/rings.h"

#include <algorithm>
#include <map>
#include <set>

#include "gossip/base/rng.h"

namespace muster::membership {
namespace {

using RackCounts = std::map<std::string_view, std::size_t>;

std::uint64_t place_on_ring(HostId host, std::size_t ring) {
  return mix64(host.prefix() ^ mix64(ring + 1));
}

bool rack_is_full(const RackCounts& counts, std::string_view rack, std::size_t limit) {
  const auto found = counts.find(rack);
  return !rack.empty() && found != counts.end() && found->second >= limit;
}

std::size_t rack_limit(const std::vector<Candidate>& candidates) {
  std::set<std::string_view> racks;
  for (const Candidate& candidate : candidates) {
    racks.insert(candidate.rack);
  }
  return racks.size() < kRacksForStrictLimit ? kObserversPerRackMax + 1 : kObserversPerRackMax;
}

/// The next host clockwise of `self` that is not chosen yet. Null if there is no such host in a
/// rack below `limit`.
const Candidate* successor(HostId self, std::size_t ring, const std::vector<Candidate>& candidates,
                           const std::set<HostId>& chosen, const RackCounts& counts,
                           std::size_t limit) {
  const std::uint64_t start = place_on_ring(self, ring);
  const Candidate* nearest = nullptr;
  std::uint64_t nearest_distance = 0;
  for (const Candidate& candidate : candidates) {
    const std::uint64_t distance = place_on_ring(candidate.host, ring) - start;
    const bool is_nearer = nearest == nullptr || distance < nearest_distance ||
                           (distance == nearest_distance && candidate.host < nearest->host);
    if (candidate.host == self || !is_nearer || chosen.contains(candidate.host) ||
        rack_is_full(counts, candidate.rack, limit)) {
      continue;
    }
    nearest = &candidate;
    nearest_distance = distance;
  }
  return nearest;
}

std::set<HostId> successors_on_rings(HostId self, const std::vector<Candidate>& candidates) {
  std::set<HostId> chosen;
  RackCounts counts;
  const std::size_t limit = rack_limit(candidates);
  for (std::size_t ring = 0; ring < kObserversMax; ++ring) {
    const Candidate* next = successor(self, ring, candidates, chosen, counts, limit);
    if (next == nullptr) {
      // Too few racks: ten observers matter more than their spread.
      next = successor(self, ring, candidates, chosen, counts, kObserversMax);
    }
    if (next != nullptr) {
      chosen.insert(next->host);
      ++counts[next->rack];
    }
  }
  return chosen;
}

}  // namespace

std::vector<HostId> propose_observers(HostId self, const std::vector<Candidate>& candidates) {
  std::set<HostId> chosen;
  for (const Candidate& candidate : candidates) {
    chosen.insert(candidate.host);
  }
  chosen.erase(self);
  if (chosen.size() >= kWatchAllHostsMax) {
    chosen = successors_on_rings(self, candidates);
  }
  return {chosen.begin(), chosen.end()};
}

std::size_t verdict_threshold(std::size_t observers) {
  return (observers * 7 + 9) / 10;
}

std::size_t suspect_threshold(std::size_t observers) {
  return std::max<std::size_t>(1, (observers * 3 + 9) / 10);
}

Duration probe_period(std::size_t observers) {
  const auto count = static_cast<std::int64_t>(
      std::min<std::size_t>(std::max<std::size_t>(observers, 1), kObserversMax));
  return std::chrono::milliseconds(500) * count;
}

}  // namespace muster::membership
