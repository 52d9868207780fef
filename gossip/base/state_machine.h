#pragma once
// StateMachine is the pattern of the project: protocol and policy live in machines without sockets,
// clocks, threads, files or logs. The output of a machine is a function of its inputs. The
// production loop and the simulator drive the same machines: same seed and inputs, same bytes out.

#include <concepts>
#include <utility>

#include "gossip/base/time.h"

namespace muster {

template <class M>
concept StateMachine = requires(M machine, const M& view, Instant now, typename M::Input input) {
  machine.step(now, std::move(input));                            // tells one external fact
  machine.tick(now);                                              // tells that time passed
  { view.next_deadline() } -> std::same_as<Instant>;              // when to call tick() next
  { machine.take_output() } -> std::same_as<typename M::Output>;  // drains, never computes
  view.check_invariants();  // CHECKs; the simulator calls it after every step
};

}  // namespace muster
