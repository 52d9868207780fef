#pragma once
// Hosts that left may come back, and know the link keys of the day they went: who has changed his
// since then cannot be dialled by them. So every voter that has another key than before dials those
// that left, one after the other; the transport tries the previous key where the new one is
// refused. One voter is not enough: who left while the authority was replaced may lack the new
// record of just that one. OwnKeys'.

#include "gossip/base/ids.h"
#include "gossip/base/time.h"
#include "membership/membership.h"

namespace muster::agent {

class AbsentContact {
 public:
  /// Between two of them. Lower: more dials to hosts that are gone; higher: a later return.
  static constexpr Duration kPeriod = std::chrono::seconds(2);

  Instant next_deadline() const { return next_; }
  /// Who is dialled now; zero when nobody left.
  HostId next(Instant now, const membership::Membership& membership);

 private:
  Instant next_{};
  HostId last_;
};

}  // namespace muster::agent
