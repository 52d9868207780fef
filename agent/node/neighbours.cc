#include "agent/node/neighbours.h"

#include <algorithm>
#include <utility>

#include "gossip/spread/overlay.h"

namespace muster::agent {

void Neighbours::choose(Instant now, const membership::Membership& membership,
                        crdt::HostStore& store) {
  overlay_epoch_ = membership.overlay_epoch();
  std::vector<HostId> chosen = gossip::choose_neighbours(membership.overlay());
  if (chosen != hosts_) {
    hosts_ = std::move(chosen);
    store.step(now, crdt::NeighboursChanged{hosts_});
  }
}

bool Neighbours::compares_rows_with(HostId host, const membership::Membership& membership) const {
  const membership::Member* member = membership.member(host);
  const bool is_there = member != nullptr && (member->state == membership::MemberState::kAlive ||
                                              member->state == membership::MemberState::kSuspect);
  return !is_there ||
         membership.members().size() <= gossip::kMeshHostsMax ||
         std::binary_search(hosts_.begin(), hosts_.end(), host);
}

}  // namespace muster::agent
