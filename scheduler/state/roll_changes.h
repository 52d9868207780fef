#pragma once
// Changes of the roll by entries: said by the rules that apply them, passed on by the leader and
// the seat, and followed by the roll of each host.

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
