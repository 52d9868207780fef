#pragma once
// Actions of an operator on the quorum. A client sends one, and ElectorateKeeper of the leader
// carries it out.

#include <cstdint>

namespace muster::scheduler {

enum class QuorumAction : std::uint8_t {
  kAdd = 0,       ///< The quorum grows by one voter: this host.
  kRemove = 1,    ///< The quorum shrinks by one voter: this host.
  kTransfer = 2,  ///< Hands the leadership to this voter; zero = to the one that suits best.
};

}  // namespace muster::scheduler
