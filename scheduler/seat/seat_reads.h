#pragma once
// SeatReads: the reads under way in Raft: the scheduler's rounds and clients' reads, under one
// numbering. Owned by QuorumSeat. Numbers rise and are never used again, so a late answer of a log
// that was left ends no read of the next one.

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace muster::scheduler {

class SeatReads {
 public:
  struct Owner {
    bool is_client = false;  ///< Else the scheduler, which asked for a round.
    std::uint64_t id = 0;    ///< The client's request, or the round's context.
  };

  /// Returns the read's number, for Raft::Read.
  std::uint64_t begin(Owner owner);
  /// The read's owner. nullopt if the read was given up.
  std::optional<Owner> end(std::uint64_t number);
  /// The log is left: no read ends any more. The clients' requests among them, oldest first.
  std::vector<std::uint64_t> give_up();

 private:
  std::map<std::uint64_t, Owner> open_;  ///< By number.
  std::uint64_t last_ = 0;
};

}  // namespace muster::scheduler
