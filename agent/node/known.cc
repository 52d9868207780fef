#include "agent/node/known.h"

#include <algorithm>

#include "agent/roll/message_gate.h"

namespace muster::agent {

HostId host_named(const Known& known, const std::string& name) {
  HostId found;
  for (const auto& [host, member] : known.membership.members()) {
    if (known.hosts.addresses().name(host) == name &&
        (found.is_zero() || is_reachable(known.membership, host))) {
      found = host;
    }
  }
  return found;
}

bool is_leader_reachable(const Known& known, HostId leader) {
  return known.contact.has_heard_lately(known.now, leader) ||
         is_reachable(known.membership, leader);
}

std::size_t live_voters(const Known& known, const crdt::QuorumView& quorum, HostId without) {
  return static_cast<std::size_t>(
      std::count_if(quorum.voters.begin(), quorum.voters.end(), [&](HostId voter) {
        return voter != without &&
               (voter == known.options.self ||
                (is_reachable(known.membership, voter) && !known.roll.is_revoked(voter)));
      }));
}

}  // namespace muster::agent
