#pragma once
// AddressBook maps host ids to names and endpoints, learned from the identity fields of rows. Owned
// by HostDirectory. It holds no more hosts than the host store does.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "crdt/rows/host_state.h"
#include "gossip/base/ids.h"
#include "gossip/wire/endpoint.h"

namespace muster::crdt {

class AddressBook {
 public:
  void learn(HostId host, const Identity& identity);
  void forget(HostId host);

  const Identity* identity(HostId host) const;
  std::optional<gossip::Endpoint> control(HostId host) const;
  /// The host that listens on that control port. Of two rows that claim one address the one learned
  /// later wins: a host that was rebuilt has a new id at its old address.
  std::optional<HostId> at(const gossip::Endpoint& control) const;
  /// The host's name; its short id if no row of it is known.
  std::string name(HostId host) const;
  /// A host other than `except` that has this name; nullopt if there is no such host.
  std::optional<HostId> claimant(const std::string& name, HostId except) const;

 private:
  std::vector<std::pair<HostId, gossip::Endpoint>>::const_iterator control_place(HostId host) const;

  std::map<HostId, Identity> hosts_;
  /// Of hosts_, ascending. Each message needs a search, so they lie close together.
  std::vector<std::pair<HostId, gossip::Endpoint>> controls_;
  std::map<gossip::Endpoint, HostId> by_control_;
  std::set<std::pair<std::string, HostId>> by_name_;
};

}  // namespace muster::crdt
