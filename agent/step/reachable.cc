#include "agent/step/reachable.h"

namespace muster::agent {

bool is_reachable(const membership::Membership& membership, HostId host) {
  const membership::Member* member = membership.member(host);
  return member != nullptr && !membership.is_claimed_by_self(host) &&
         (member->state == membership::MemberState::kAlive ||
          member->state == membership::MemberState::kSuspect);
}

}  // namespace muster::agent
