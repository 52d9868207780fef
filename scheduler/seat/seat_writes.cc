#include "scheduler/seat/seat_writes.h"

#include "gossip/base/check.h"

namespace muster::scheduler {

std::uint64_t SeatWrites::begin(Owner owner) {
  open_.emplace_hint(open_.end(), ++last_, owner);
  return last_;
}

SeatWrites::Owner SeatWrites::end(std::uint64_t number) {
  const auto found = open_.find(number);
  CHECK(found != open_.end());
  const Owner owner = found->second;
  open_.erase(found);
  return owner;
}

void SeatWrites::leave_raft() {
  for (auto& [number, owner] : open_) {
    owner.machine = owner.machine == Machine::kRaft ? Machine::kNobody : owner.machine;
  }
}

}  // namespace muster::scheduler
