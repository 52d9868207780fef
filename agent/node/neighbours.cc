#include "agent/node/neighbours.h"

#include <algorithm>
#include <utility>

#include "gossip/spread/overlay.h"

namespace muster::agent {

/// A host that knew other members when it started is not young.
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
  if (overlay_epoch_ == membership.overlay_epoch()) {
    return kNever;
  }
  const bool all_live = std::all_of(hosts_.begin(), hosts_.end(), [&](HostId host) {
    const membership::Member* member = membership.member(host);
    return member != nullptr && member->state == membership::MemberState::kAlive;
  });
  return all_live ? rest_until_ : kLongAgo;
}

void Neighbours::choose(Instant now, const membership::Membership& membership,
                        crdt::HostStore& store) {
  grow(now, membership);
  const gossip::OverlayView overlay = membership.overlay();
  is_mesh_ = overlay.hosts.size() <= gossip::kMeshHostsMax;
  if (now < young_until_ && !is_mesh_) {
    relays_ = false;
    store.step(now, crdt::NeighboursChanged{hosts_, relays_});
    return;
  }
  overlay_epoch_ = membership.overlay_epoch();
  const bool relayed = std::exchange(relays_, true);
  std::vector<HostId> chosen = gossip::choose_neighbours(overlay);
  if (chosen == hosts_ && relayed) {
    return;
  }
  hosts_ = std::move(chosen);
  rest_until_ = is_mesh_ ? kLongAgo : now + kNeighboursRest;
  store.step(now, crdt::NeighboursChanged{hosts_, relays_});
}

void Neighbours::end_youth(Instant now, const membership::Membership& membership,
                           crdt::HostStore& store) {
  if (!relays_) {
    young_until_ = now;
    choose(now, membership, store);
  }
}

bool Neighbours::compares_rows_with(HostId host, const membership::Membership& membership) const {
  const membership::Member* member = membership.member(host);
  const bool is_there = member != nullptr && (member->state == membership::MemberState::kAlive ||
                                              member->state == membership::MemberState::kSuspect);
  return !is_there || is_mesh_ || std::binary_search(hosts_.begin(), hosts_.end(), host);
}

}  // namespace muster::agent
