#include "crdt/rows/address_book.h"

#include <algorithm>

namespace muster::crdt {

void AddressBook::learn(HostId host, const Identity& identity) {
  forget(host);
  hosts_[host] = identity;
  by_name_.insert({identity.name, host});
  if (!identity.control.is_none()) {
    by_control_[identity.control] = host;
    controls_.insert(control_place(host), {host, identity.control});
  }
}

void AddressBook::forget(HostId host) {
  const auto known = hosts_.find(host);
  if (known == hosts_.end()) {
    return;
  }
  const auto address = by_control_.find(known->second.control);
  if (address != by_control_.end() && address->second == host) {
    by_control_.erase(address);
  }
  by_name_.erase({known->second.name, host});
  const auto place = control_place(host);
  if (place != controls_.end() && place->first == host) {
    controls_.erase(place);
  }
  hosts_.erase(known);
}

const Identity* AddressBook::identity(HostId host) const {
  const auto known = hosts_.find(host);
  return known == hosts_.end() ? nullptr : &known->second;
}

std::optional<gossip::Endpoint> AddressBook::control(HostId host) const {
  const auto place = control_place(host);
  return place == controls_.end() || place->first != host ? std::nullopt
                                                          : std::optional(place->second);
}

std::vector<std::pair<HostId, gossip::Endpoint>>::const_iterator AddressBook::control_place(
    HostId host) const {
  return std::lower_bound(controls_.begin(), controls_.end(), host,
                          [](const auto& entry, HostId id) { return entry.first < id; });
}

std::optional<HostId> AddressBook::at(const gossip::Endpoint& control) const {
  const auto known = by_control_.find(control);
  return known == by_control_.end() ? std::nullopt : std::optional(known->second);
}

std::string AddressBook::name(HostId host) const {
  const Identity* known = identity(host);
  return known == nullptr || known->name.empty() ? host.short_hex() : known->name;
}

std::optional<HostId> AddressBook::claimant(const std::string& name, HostId except) const {
  for (auto it = by_name_.lower_bound({name, HostId()}); it != by_name_.end(); ++it) {
    if (it->first != name) {
      break;
    }
    if (it->second != except && !hosts_.at(it->second).left) {
      return it->second;
    }
  }
  return std::nullopt;
}

}  // namespace muster::crdt
