#include "scheduler/raft/quorum.h"

#include <algorithm>
#include <functional>

#include "gossip/base/check.h"

namespace muster::scheduler {

std::uint64_t majority_reached(std::vector<std::uint64_t> numbers) {
  CHECK(!numbers.empty());
  const std::size_t place = majority_of(numbers.size()) - 1;
  std::sort(numbers.begin(), numbers.end(), std::greater<>());
  return numbers[place];
}

VoteOutcome VoteTally::outcome() const {
  std::size_t granted = 0;
  for (const auto& [voter, yes] : votes_) {
    granted += yes ? 1 : 0;
  }
  const std::size_t refused = votes_.size() - granted;
  const std::size_t needed = majority_of(voter_count_);
  if (granted >= needed) {
    return VoteOutcome::kWon;
  }
  return refused > voter_count_ - needed ? VoteOutcome::kLost : VoteOutcome::kPending;
}

}  // namespace muster::scheduler
