#pragma once
// Changes of the roll by entries. The rules that apply an entry report them, the leader and the
// seat pass them on, and the roll of each host follows them.

#include <vector>

#include "gossip/base/ids.h"

namespace muster::scheduler {

struct RollChanges {
  std::vector<HostId> enrolled;  ///< Hosts whose record changed.
  bool tickets = false;
  bool authority = false;  ///< Another one signs the roll from now on.

  void add(const RollChanges& later) {
    enrolled.insert(enrolled.end(), later.enrolled.begin(), later.enrolled.end());
    tickets = tickets || later.tickets;
    authority = authority || later.authority;
  }
};

}  // namespace muster::scheduler
