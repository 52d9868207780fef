#pragma once
// An index of hosts by name or id, whole or in short. Owned by Capacity; pure.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "gossip/base/indexed_map.h"
#include "scheduler/protocol/host_number.h"

namespace muster::scheduler {

class HostNames {
 public:
  /// Sets the name of a host, whose id never changes. True if the name changed or the host is new.
  bool set(const HostId& id, HostNumber number, const std::string& name);
  std::optional<HostNumber> number_of(const HostId& id) const;
  /// All hosts with this name or id.
  std::vector<HostNumber> called(const std::string& text) const;

 private:
  struct Known {
    HostNumber number{};
    std::string name;
  };
  IndexedMap<HostId, Known> hosts_;
  std::map<std::string, std::set<HostNumber>> named_;
};

}  // namespace muster::scheduler
