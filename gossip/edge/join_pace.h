#pragma once
// How fast tickets are let in: so many a second from one address. Whoever is too early is refused
// and asks again (agent/edge/join/joiner). Hosts come from addresses of their own: a herd of them
// is not held back, who tries one ticket without end is. It is told the time.

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "gossip/base/pace.h"
#include "gossip/base/time.h"

namespace muster::gossip {

/// A second, and at once, from one address. Sixty agents that join from one address with one ticket
/// are in before any of them gives up (kJoinTimeout).
inline constexpr std::int64_t kJoinsASecond = 10;

class JoinPace {
 public:
  /// More addresses than handshakes can be done in a second, so that none is forgotten too early.
  static constexpr std::size_t kAddressesMax = 4096;

  /// Whether one from there may come in now. Beyond kAddressesMax in a second nobody else may.
  bool take(const std::string& address, Instant now);

 private:
  void forget_old(Instant now);

  /// Who came this second and who came the last one. An address that was silent for a second may do
  /// all that a new one may, and is forgotten.
  std::map<std::string, Pace> recent_;
  std::map<std::string, Pace> older_;
  Instant began_ = kLongAgo;  ///< When recent_ was empty.
};

}  // namespace muster::gossip
