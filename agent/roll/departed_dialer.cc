#include "agent/roll/departed_dialer.h"

namespace muster::agent {

HostId DepartedDialer::next(Instant now, const membership::Membership& membership) {
  next_ = now + kPeriod;
  HostId first;
  for (const auto& [host, member] : membership.members()) {
    if (member.state != membership::MemberState::kLeft) {
      continue;
    }
    if (host > last_) {
      last_ = host;
      return host;
    }
    first = first.is_zero() ? host : first;
  }
  last_ = first;
  return first;
}

}  // namespace muster::agent
