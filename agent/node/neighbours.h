#pragma once
// The hosts that this one exchanges rows with: chosen from the overlay, anew only when that is
// another one. The Node's.

#include <cstdint>
#include <vector>

#include "crdt/store/host_store.h"
#include "gossip/base/ids.h"
#include "gossip/base/time.h"
#include "membership/membership.h"

namespace muster::agent {

class Neighbours {
 public:
  /// Ascending.
  const std::vector<HostId>& hosts() const { return hosts_; }
  /// The overlay is another one than they were chosen from.
  bool are_stale(const membership::Membership& membership) const {
    return overlay_epoch_ != membership.overlay_epoch();
  }
  /// Chooses anew, and tells the store when they are others now; stale no more.
  void choose(Instant now, const membership::Membership& membership, crdt::HostStore& store);
  /// A link that comes up compares all rows. Not so beyond a mesh with one that is no neighbour and
  /// neither UNREACHABLE nor LEFT: commands and renewals would cost a digest of every host a link.
  bool compares_rows_with(HostId host, const membership::Membership& membership) const;

 private:
  std::vector<HostId> hosts_;
  std::uint64_t overlay_epoch_ = 0;  ///< The membership's, when they were last chosen.
};

}  // namespace muster::agent
