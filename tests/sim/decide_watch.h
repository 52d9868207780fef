#pragma once
// A base of checkers that judge what a leader decides by what it knew: a Decide is looked at when
// the leader has just written it, beside the state that it had then and the Decides before it that
// the log has not applied. Only calm leaders are judged: what one hears of hosts under faults, and
// how it paces itself then, stands in no log.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/sim/checkers.h"

namespace muster::sim {

class DecideWatch : public Checker {
 public:
  void on_event(World& world, std::uint32_t host, const Event& event) override;

 protected:
  using Decides = std::vector<scheduler::entry::Decide>;
  /// A calm leader asks the log for `decide`; `before`: what it asked for before that, and is not
  /// applied.
  virtual void on_decide(World& world, std::uint32_t host, const scheduler::State& state,
                         const Decides& before, const scheduler::entry::Decide& decide) = 0;
  /// The state of a leader changed. `asked`: what it asked for, and is not applied.
  virtual void on_state(const scheduler::State& /*state*/, const Decides& /*asked*/) {}
  /// Another host leads, or the same one again.
  virtual void on_leader() {}

  /// Cluster time for which some job that asks for GPUs has waited without a break, under this
  /// leader: one that waited for long may have a plan, and others may pass it.
  Duration backlog(const scheduler::State& state) const { return state.cluster_time() - empty_at_; }

 private:
  struct Seen {
    std::uint32_t host = UINT32_MAX;
    std::uint64_t term = 0;
    std::uint64_t end = 0;      ///< Of its log.
    std::uint64_t applied = 0;  ///< The last entry that its state has.
  };
  void look(World& world, std::uint32_t host);

  std::pair<std::uint32_t, std::uint64_t> looked_at_{UINT32_MAX, 0};  ///< Host, step of the world.
  Seen seen_;
  Instant calm_since_;
  Instant moved_at_;      ///< When `seen_.applied` last changed.
  Duration empty_at_{0};  ///< Cluster time at which no job waited for GPUs, or the leader began.
};

/// The folded GPU type of the hosts of a Decide; "" if it is about no GPUs, or unknown hosts.
std::string gpu_pool_of(const scheduler::State& state, const scheduler::entry::Decide& decide);

}  // namespace muster::sim
