#include "agent/edge/door/connection_crowd.h"

#include <algorithm>
#include <iterator>

#include "gossip/base/check.h"

namespace muster::agent {

void ConnectionCrowd::add(HttpConnection& connection, const AddressLimits::Key& key, Instant now) {
  const bool is_new = places_.emplace(&connection, Place{key, ++last_number_}).second;
  CHECK(is_new);
  by_address_[key].emplace(last_number_, Member{&connection, now});
}

bool ConnectionCrowd::remove(const HttpConnection& connection) {
  const auto place = places_.find(&connection);
  if (place == places_.end()) {
    return false;
  }
  const auto group = by_address_.find(place->second.key);
  group->second.erase(place->second.number);
  if (group->second.empty()) {
    by_address_.erase(group);
  }
  places_.erase(place);
  return true;
}

const ConnectionCrowd::Member& ConnectionCrowd::first_to_go() const {
  CHECK(!by_address_.empty());
  const auto goes_later = [](const auto& one, const auto& other) {
    const Group& ours = one.second;
    const Group& theirs = other.second;
    return ours.size() != theirs.size() ? ours.size() < theirs.size()
                                        : ours.begin()->first > theirs.begin()->first;
  };
  const auto first = std::max_element(by_address_.begin(), by_address_.end(), goes_later);
  return first->second.begin()->second;
}

}  // namespace muster::agent
