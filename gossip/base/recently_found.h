#pragma once
// RecentlyFound is a cache in front of a map by host. An agent hears the same dozen hosts all day,
// and each search through a map of thousands costs a cache miss at each level.

#include <array>
#include <cstddef>
#include <map>
#include <utility>

#include "gossip/base/ids.h"

namespace muster {

/// For one map that never erases, so that an element stays at its address. It moves with its map.
/// It cannot be copied: the copy would point into the other map.
template <class Value>
class RecentlyFound {
 public:
  RecentlyFound() = default;
  RecentlyFound(RecentlyFound&&) = default;
  RecentlyFound& operator=(RecentlyFound&&) = default;

  /// Null if the map does not hold the host.
  const Value* find(const std::map<HostId, Value>& map, HostId host) {
    auto& [known, value] = places_[host.prefix() % places_.size()];
    if (value == nullptr || known != host) {
      const auto found = map.find(host);
      if (found == map.end()) {
        return nullptr;
      }
      known = host;
      value = &found->second;
    }
    return value;
  }

 private:
  static constexpr std::size_t kPlaces = 64;
  std::array<std::pair<HostId, const Value*>, kPlaces> places_ = {};
};

}  // namespace muster
