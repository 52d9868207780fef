#pragma once
// Neighbours chooses from the overlay the hosts with which this one exchanges rows, again whenever
// the overlay changes. Owned by Node.

#include <cstdint>
#include <vector>

#include "crdt/store/host_store.h"
#include "gossip/base/ids.h"
#include "gossip/base/time.h"
#include "membership/membership.h"

namespace muster::agent {

/// A host is young for this time after it heard of its first member. A young host of a fleet keeps
/// the neighbours, perhaps none, that it had while it knew no more than a mesh. It hears news as a
/// guest, and passes on only the news that hosts told it of themselves. Higher: of many hosts that
/// boot together each makes its links once, to neighbours that it keeps, but fewer hosts carry the
/// news. Lower: the opposite.
inline constexpr Duration kYouth = std::chrono::seconds(3);
/// Beyond a mesh a host keeps the neighbours that it chose for this time, if they are all alive.
/// Higher: while many join, fewer links are made that are soon superfluous, each of which costs
/// both ends a handshake. Lower: a host that joins among many hears the news from its own
/// neighbours sooner.
inline constexpr Duration kNeighboursRest = std::chrono::seconds(2);

class Neighbours {
 public:
  /// Ascending.
  const std::vector<HostId>& hosts() const { return hosts_; }
  /// The time of the next choice; kNever if the overlay is the one that they were chosen from.
  Instant due(const membership::Membership& membership) const;
  /// Chooses neighbours, or keeps them while this host is young. Tells the store of a change.
  void choose(Instant now, const membership::Membership& membership, crdt::HostStore& store);
  /// A young host chooses now, for it leaves and has to tell that.
  void end_youth(Instant now, const membership::Membership& membership, crdt::HostStore& store);
  /// True if a new link to `host` compares all rows. Beyond a mesh it does not for a host that is
  /// no neighbour and is neither UNREACHABLE nor LEFT: each link for commands and renewals would
  /// cost a digest of every host.
  bool compares_rows_with(HostId host, const membership::Membership& membership) const;

 private:
  void grow(Instant now, const membership::Membership& membership);

  std::vector<HostId> hosts_;
  bool is_mesh_ = true;
  bool relays_ = true;               ///< The value that the store was last told.
  std::uint64_t overlay_epoch_ = 0;  ///< The overlay epoch of the last choice.
  Instant young_until_ = kNever;     ///< Set once the first other member is known.
  Instant rest_until_ = kLongAgo;
};

}  // namespace muster::agent
