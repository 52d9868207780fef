#include "scheduler/seat/seat_reads.h"

#include <utility>

namespace muster::scheduler {

std::uint64_t SeatReads::begin(Owner owner) {
  open_.emplace_hint(open_.end(), ++last_, owner);
  return last_;
}

std::optional<SeatReads::Owner> SeatReads::end(std::uint64_t number) {
  const auto found = open_.find(number);
  if (found == open_.end()) {
    return std::nullopt;
  }
  const Owner owner = found->second;
  open_.erase(found);
  return owner;
}

std::vector<std::uint64_t> SeatReads::give_up() {
  std::vector<std::uint64_t> requests;
  for (const auto& [number, owner] : std::exchange(open_, {})) {
    if (owner.is_client) {
      requests.push_back(owner.id);
    }
  }
  return requests;
}

}  // namespace muster::scheduler
