#pragma once
// Evidence: the claims of all observers, and their tally. Owned by Membership. An observer's claims
// are one set, published as one field of its row and replaced as a whole: the empty set is the
// deletion. A claim rests on the observer's own probes, never on a claim of another.

#include <cstddef>
#include <map>
#include <vector>

#include "crdt/rows/host_state.h"
#include "gossip/base/ids.h"
#include "gossip/base/time.h"

namespace muster::membership {

struct HeldClaim {
  crdt::Claim claim;
  Instant since;  ///< When this host first heard it.
};

/// One observer's claim about a subject, for `why host`.
struct Accusation {
  HostId observer;
  crdt::ClaimKind kind = crdt::ClaimKind::kSilent;
  bool weak = false;
  Instant since;
};

struct Tally {
  std::size_t strong = 0;        ///< Count towards H.
  std::size_t weak = 0;          ///< Count towards L only.
  std::size_t refused = 0;       ///< Of the strong ones.
  std::size_t weak_refused = 0;  ///< Of the weak ones.

  /// kRefused if most strong claims say so: the kernel answers and the agent is down. If there are
  /// only weak claims, they decide.
  crdt::ClaimKind kind() const;
};

class Evidence {
 public:
  /// Replaces the observer's set. Returns the subjects whose claims by it changed.
  std::vector<HostId> replace(Instant now, HostId observer, std::vector<crdt::Claim> claims);
  /// Claims about exactly this start of the subject, by these observers.
  Tally tally(HostId subject, Generation generation, const std::vector<HostId>& observers) const;
  std::vector<Accusation> accusations(HostId subject, Generation generation,
                                      const std::vector<HostId>& observers) const;

 private:
  const HeldClaim* find(HostId observer, HostId subject, Generation generation) const;

  std::map<HostId, std::vector<HeldClaim>> by_observer_;  ///< Sets sorted by subject, not empty.
};

}  // namespace muster::membership
