#pragma once
// JoinPace limits how many connections with a ticket are let in each second from one address. A
// host that is refused as too early asks again (agent/edge/join/joiner). Hosts have addresses of
// their own: many that join together are not held back, one that tries without end is.

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "gossip/base/pace.h"
#include "gossip/base/time.h"

namespace muster::gossip {

/// Limit from one address, for each second and for a burst. Sixty agents that join from one address
/// with one ticket are in before any of them gives up (kJoinTimeout).
inline constexpr std::int64_t kJoinsASecond = 10;

class JoinPace {
 public:
  /// More than the handshakes that a second has time for, so that no address is forgotten early.
  static constexpr std::size_t kAddressesMax = 4096;

  /// Whether a ticket from there may come in now. Beyond kAddressesMax in a second no new address
  /// may.
  bool take(const std::string& address, Instant now);

 private:
  void forget_old(Instant now);

  /// Addresses of this second and of the last one. An address that was silent for a second is
  /// forgotten: it may do as much as a new one.
  std::map<std::string, Pace> recent_;
  std::map<std::string, Pace> older_;
  Instant began_ = kLongAgo;  ///< The moment when recent_ was empty.
};

}  // namespace muster::gossip
