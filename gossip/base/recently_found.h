#pragma once
// A memo in front of a map by host: an agent hears the same dozen hosts all day, and a search
// through a map of thousands costs a cache miss a level with every message.

#include <array>
#include <cstddef>
#include <map>
#include <utility>

#include "gossip/base/ids.h"

namespace muster {

/// For one map that never erases: what was found stays where it is. Moves with its map; a copy
/// would point into the other map, so there is none.
template <class Value>
class RecentlyFound {
 public:
  RecentlyFound() = default;
  RecentlyFound(RecentlyFound&&) = default;
  RecentlyFound& operator=(RecentlyFound&&) = default;

  /// Null when the map does not hold the host.
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
