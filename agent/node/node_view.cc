#include "agent/node/node_view.h"

#include <algorithm>

#include "agent/roll/message_gate.h"

namespace muster::agent {

const scheduler::Directory& directory_of(const NodeView& node) {
  const bool has_copy = !node.seat.knows_state() && node.contact.users().directory().is_founded();
  return has_copy ? node.contact.users().directory() : node.seat.state().directory();
}

Duration cluster_time_of(const NodeView& node) {
  // A voter that is cut off counts on, too.
  constexpr Duration kAgeMax = std::chrono::hours(24 * 366);
  return node.seat.knows_state()
             ? node.seat.state().cluster_time() + std::min(node.seat.age(node.now), kAgeMax)
             : node.contact.users().cluster_time(node.now);
}

HostId host_named(const NodeView& node, const std::string& name) {
  HostId found;
  for (const auto& [host, member] : node.membership.members()) {
    if (node.hosts.addresses().name(host) == name &&
        (found.is_zero() || is_reachable(node.membership, host))) {
      found = host;
    }
  }
  return found;
}

bool is_leader_reachable(const NodeView& node, HostId leader) {
  return node.contact.has_heard_lately(node.now, leader) || is_reachable(node.membership, leader);
}

std::size_t live_voters(const NodeView& node, const crdt::QuorumView& quorum, HostId without) {
  return static_cast<std::size_t>(
      std::count_if(quorum.voters.begin(), quorum.voters.end(), [&](HostId voter) {
        return voter != without &&
               (voter == node.options.self ||
                (is_reachable(node.membership, voter) && !node.roll.is_revoked(voter)));
      }));
}

std::size_t failures_tolerated(const NodeView& node, const crdt::QuorumView& quorum) {
  const std::size_t majority = quorum.voters.size() / 2 + 1;
  return std::max(live_voters(node, quorum), majority) - majority;
}

}  // namespace muster::agent
