#include "gossip/edge/route_table.h"

#include <iterator>

namespace muster::gossip {

Route RouteTable::touch(Address address, std::string_view key, int fd) {
  const auto known = by_address_.find(address);
  if (known != by_address_.end() && known->second->key == key) {
    entries_.splice(entries_.begin(), entries_, known->second);
    return known->second->route;
  }
  if (known != by_address_.end()) {
    forget(known->second->route);
  }
  if (entries_.size() >= routes_max_) {
    forget(entries_.back().route);
  }
  const Route route(++last_);
  entries_.push_front({route, address, std::string(key), ConnectionMark(fd)});
  by_address_.emplace(std::move(address), entries_.begin());
  by_route_.emplace(route, entries_.begin());
  return route;
}

const RouteTable::Address* RouteTable::find(Route route) const {
  const auto known = by_route_.find(route);
  return known == by_route_.end() ? nullptr : &known->second->address;
}

void RouteTable::forget(Route route) {
  const auto known = by_route_.find(route);
  if (known == by_route_.end()) {
    return;
  }
  const auto entry = known->second;
  by_address_.erase(entry->address);
  by_route_.erase(known);
  entries_.erase(entry);
}

std::vector<ConnectionMark> RouteTable::take_out(std::string_view key) {
  std::vector<ConnectionMark> found;
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const auto next = std::next(entry);
    if (entry->key == key) {
      found.push_back(entry->connection);
      forget(entry->route);
    }
    entry = next;
  }
  return found;
}

void RouteTable::forget_proven() {
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const auto next = std::next(entry);
    if (!entry->key.empty()) {
      forget(entry->route);
    }
    entry = next;
  }
}

}  // namespace muster::gossip
