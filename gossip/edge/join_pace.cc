#include "gossip/edge/join_pace.h"

#include <utility>

namespace muster::gossip {

bool JoinPace::take(const std::string& address, Instant now) {
  forget_old(now);
  if (auto known = older_.extract(address); !known.empty()) {
    recent_.insert(std::move(known));
  }
  if (recent_.size() >= kAddressesMax && !recent_.contains(address)) {
    return false;
  }
  Pace& pace = recent_[address];
  if (now < pace.ready_at(kJoinsASecond)) {
    return false;
  }
  pace.take(now, kJoinsASecond);
  return true;
}

void JoinPace::forget_old(Instant now) {
  if (now - began_ >= std::chrono::seconds(1)) {
    older_ = std::exchange(recent_, {});
    began_ = now;
  }
}

}  // namespace muster::gossip
