#pragma once
// The hosts that this one exchanges rows with: chosen from the overlay, again when that is another
// one. A part of the Node.

#include <cstdint>
#include <vector>

#include "crdt/store/host_store.h"
#include "gossip/base/ids.h"
#include "gossip/base/time.h"
#include "membership/membership.h"

namespace muster::agent {

/// So long after it heard of its first member a host of a fleet keeps the neighbours that it had
/// while it knew no more than a mesh of them, perhaps none. It is told the news as a guest, and it
/// passes on to them only what hosts told it themselves. Raised: of many that boot at once each
/// makes its links once, to neighbours that it keeps; lowered: fewer hosts carry the news while
/// many join.
inline constexpr Duration kYouth = std::chrono::seconds(3);
/// Beyond a mesh a host that chose other neighbours keeps those for so long, if they are all alive.
/// Raised: while many join fewer links are made that the next moment needs no more, each of which
/// costs either end a handshake; lowered: a host that joins among many hears the news from its own
/// neighbours sooner.
inline constexpr Duration kNeighboursRest = std::chrono::seconds(2);

class Neighbours {
 public:
  /// Ascending.
  const std::vector<HostId>& hosts() const { return hosts_; }
  /// When they are to be chosen again: the overlay is another one than they were chosen from.
  Instant due(const membership::Membership& membership) const;
  /// Chooses, or while this host is young keeps them, and tells the store when that is a change.
  void choose(Instant now, const membership::Membership& membership, crdt::HostStore& store);
  /// A young host chooses now: one that leaves has something to say.
  void end_youth(Instant now, const membership::Membership& membership, crdt::HostStore& store);
  /// A link that comes up compares all rows. Not so beyond a mesh with one that is no neighbour and
  /// neither UNREACHABLE nor LEFT: commands and renewals would cost a digest of every host a link.
  bool compares_rows_with(HostId host, const membership::Membership& membership) const;

 private:
  void grow(Instant now, const membership::Membership& membership);

  std::vector<HostId> hosts_;
  bool is_mesh_ = true;
  bool relays_ = true;               ///< As the store was told.
  std::uint64_t overlay_epoch_ = 0;  ///< Of the membership, when they were last chosen.
  Instant young_until_ = kNever;     ///< Set when the first other member is known.
  Instant rest_until_ = kLongAgo;
};

}  // namespace muster::agent
