#include "agent/step/pending_writes.h"

#include <algorithm>
#include <utility>

#include "gossip/base/check.h"

namespace muster::agent {

std::uint64_t PendingWrites::hand_out(OwnedWrite whose, Instant now) {
  CHECK(waiting_.empty() || waiting_.rbegin()->second.since <= now);
  const std::uint64_t number = ++last_number_;
  waiting_.emplace_hint(waiting_.end(), number, Waiting{whose, now});
  return number;
}

OwnedWrite PendingWrites::on_persisted(std::uint64_t number) {
  const auto found = waiting_.find(number);
  CHECK(found != waiting_.end());
  const OwnedWrite whose = found->second.whose;
  waiting_.erase(found);
  return whose;
}

Instant PendingWrites::next_look() const {
  return waiting_.empty()
             ? kNever
             : std::max(waiting_.begin()->second.since + kDiskLate, looked_at_ + kDiskLookPeriod);
}

}  // namespace muster::agent
