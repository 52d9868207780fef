#pragma once
// What an operator may ask of the voters as a whole: clients send this word, and the leader's
// electorate carries it out.

#include <cstdint>

namespace muster::scheduler {

enum class QuorumAction : std::uint8_t {
  kAdd = 0,       ///< One voter more is wanted, and this host shall be it.
  kRemove = 1,    ///< One voter less is wanted: not this host.
  kTransfer = 2,  ///< This voter shall lead; zero = whichever suits best.
};

}  // namespace muster::scheduler
