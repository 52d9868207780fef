#pragma once
// Counting majorities: pure functions and a tally of votes. Knows nothing of logs or time.

#include <cstdint>
#include <map>
#include <vector>

#include "gossip/base/ids.h"

namespace muster::scheduler {

/// More than half of `voter_count`; 1 of 1, 2 of 3, 3 of 5.
constexpr std::size_t majority_of(std::size_t voter_count) {
  return voter_count / 2 + 1;
}

/// The highest number that a majority has reached, given one number a voter. At least one number.
std::uint64_t majority_reached(std::vector<std::uint64_t> numbers);

enum class VoteOutcome { kPending, kWon, kLost };

/// The votes of one election among a fixed set of voters. A voter's first answer counts.
class VoteTally {
 public:
  VoteTally() = default;
  explicit VoteTally(std::size_t voter_count) : voter_count_(voter_count) {}
  void record(HostId voter, bool granted) { votes_.emplace(voter, granted); }
  VoteOutcome outcome() const;

 private:
  std::size_t voter_count_ = 0;
  std::map<HostId, bool> votes_;
};

}  // namespace muster::scheduler
