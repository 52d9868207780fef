#pragma once
// The writes of a seat that are not durable yet, and which of its machines waits for each. A part
// of QuorumSeat. Each write ends once; what is left of a log that was left still ends, for nobody.

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
    kGivenUp,   ///< The record that nobody sits here any more.
  };
  struct Owner {
    Machine machine = Machine::kNobody;
    std::uint64_t id = 0;  ///< The machine's own number of it.
  };

  /// Its number, which rises by one.
  std::uint64_t begin(Owner owner);
  /// It is durable. Precondition: begun, and not ended.
  Owner end(std::uint64_t number);
  /// The log is left: nobody waits for what Raft wrote.
  void leave_raft();

 private:
  std::map<std::uint64_t, Owner> open_;  ///< By number.
  std::uint64_t last_ = 0;
};

}  // namespace muster::scheduler
