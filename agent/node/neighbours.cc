#include "agent/node/neighbours.h"

#include <algorithm>
#include <utility>

#include "gossip/spread/overlay.h"

namespace muster::agent {

namespace {

bool are_mesh(const membership::Membership& membership) {
  return membership.members().size() <= gossip::kMeshHostsMax;
}

}  // namespace

/// A host that knew a fleet when it started is not young.
void Neighbours::grow(Instant now, const membership::Membership& membership) {
  const bool is_alone = membership.members().size() <= 1;
  if (young_until_ == kNever && !is_alone) {
    young_until_ = overlay_epoch_ == 0 ? now : now + kYouth;
  }
}

Instant Neighbours::due(const membership::Membership& membership) const {
  if (!relays_) {
    return young_until_;
  }
  return overlay_epoch_ == membership.overlay_epoch() ? kNever : rest_until_;
}

void Neighbours::choose(Instant now, const membership::Membership& membership,
                        crdt::HostStore& store) {
  grow(now, membership);
  if (now < young_until_ && !are_mesh(membership)) {
    relays_ = false;
    store.step(now, crdt::NeighboursChanged{hosts_, relays_});
    return;
  }
  overlay_epoch_ = membership.overlay_epoch();
  const bool relayed = std::exchange(relays_, true);
  std::vector<HostId> chosen = gossip::choose_neighbours(membership.overlay());
  if (chosen == hosts_ && relayed) {
    return;
  }
  hosts_ = std::move(chosen);
  rest_until_ = are_mesh(membership) ? kLongAgo : now + kNeighboursRest;
  store.step(now, crdt::NeighboursChanged{hosts_, relays_});
}

bool Neighbours::compares_rows_with(HostId host, const membership::Membership& membership) const {
  const membership::Member* member = membership.member(host);
  const bool is_there = member != nullptr && (member->state == membership::MemberState::kAlive ||
                                              member->state == membership::MemberState::kSuspect);
  return !is_there || are_mesh(membership) ||
         std::binary_search(hosts_.begin(), hosts_.end(), host);
}

}  // namespace muster::agent
