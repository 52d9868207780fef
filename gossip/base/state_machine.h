#pragma once
// The pattern of the whole project: protocol and policy live in machines without sockets, clocks,
// threads, files or logs. A machine is a function of what it was told; the production loop and the
// simulator drive the very same one. Same seed and inputs, same bytes out.

#include <concepts>
#include <utility>

#include "gossip/base/time.h"

namespace muster {

template <class M>
concept StateMachine = requires(M machine, const M& view, Instant now, typename M::Input input) {
  machine.step(now, std::move(input));                            // one external fact happened
  machine.tick(now);                                              // time passed, nothing else
  { view.next_deadline() } -> std::same_as<Instant>;              // when tick() is wanted next
  { machine.take_output() } -> std::same_as<typename M::Output>;  // drains, computes nothing
  view.check_invariants();  // CHECKs; the simulator calls it after every step
};

}  // namespace muster
