#pragma once
// SeatWrites: the writes of a seat that are not durable yet, and the machine that waits for each.
// Owned by QuorumSeat. Each write ends once, also one of a log that was left (kNobody).

#include <cstdint>
#include <map>

namespace muster::scheduler {

class SeatWrites {
 public:
  enum class Machine : std::uint8_t {
    kNobody,
    kFirstQuorum,
    kRaft,
    kRecovery,  ///< The log of another epoch.
    kGivenUp,   ///< The record that the seat is given up.
  };
  struct Owner {
    Machine machine = Machine::kNobody;
    std::uint64_t id = 0;  ///< The machine's own number of the write.
  };

  /// Returns the write's number, which rises by one.
  std::uint64_t begin(Owner owner);
  /// The write is durable. Precondition: begun, and not ended.
  Owner end(std::uint64_t number);
  /// The log is left: no machine waits for the writes of Raft.
  void leave_raft();

 private:
  std::map<std::uint64_t, Owner> open_;  ///< By number.
  std::uint64_t last_ = 0;
};

}  // namespace muster::scheduler
