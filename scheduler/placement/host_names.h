#pragma once
// Hosts by what people call them: a name, or an id, whole or in short. Owned by Capacity; pure.

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
  /// The host's id is what it was. True: its name changed, or it is new.
  bool set(const HostId& id, HostNumber number, const std::string& name);
  std::optional<HostNumber> number_of(const HostId& id) const;
  /// All that are called so.
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
