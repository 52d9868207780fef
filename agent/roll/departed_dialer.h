#pragma once
// DepartedDialer dials the hosts that left, one after the other, from a voter that changed its link
// key. A host that comes back knows the keys of the day it left: it cannot dial a host that has
// changed its key since. Where such a host refuses the new key, the transport tries the previous
// one. One voter is not enough: a host that left while the authority was replaced may lack the new
// record of just this voter. Owned by OwnKeys.

#include "gossip/base/ids.h"
#include "gossip/base/time.h"
#include "membership/membership.h"

namespace muster::agent {

class DepartedDialer {
 public:
  /// Time between two dials. Lower: more dials to hosts that are gone; higher: a later return.
  static constexpr Duration kPeriod = std::chrono::seconds(2);

  Instant next_deadline() const { return next_; }
  /// The host to dial now; zero if no host has left.
  HostId next(Instant now, const membership::Membership& membership);

 private:
  Instant next_{};
  HostId last_;
};

}  // namespace muster::agent
