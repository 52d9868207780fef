#pragma once
// Checkers of queues and shares. They count what is held from the attempts alone, and know the
// tree of queues by its paths.

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "tests/sim/checkers.h"

namespace muster::sim {

/// No Decide that the log accepts lifts a queue above its max. A max that was set below what is
/// held already, and attempts that a recovery adopted, break nothing.
class QueueMaxHolds : public Checker {
 public:
  std::string name() const override { return "queue_max_holds"; }
  void on_event(World& world, std::uint32_t host, const Event& event) override;

 private:
  /// The last entry that a voter had applied, and its tree.
  struct Seen {
    std::uint64_t applied = 0;
    std::uint64_t version = 0;
  };
  struct Voter {
    std::uint64_t step = 0;  ///< Of the world, when it was last seen.
    Seen before{};           ///< Before that step.
    Seen now{};
  };
  void judge(World& world, std::uint32_t host, const scheduler::State& state, const Token& token);

  std::map<std::uint32_t, Voter> voters_;
};

/// A queue or user holds the sum of the charges of the members that are not over.
class HeldIsSum : public Checker {
 public:
  std::string name() const override { return "held_is_sum"; }
  void on_event(World& world, std::uint32_t host, const Event& event) override;
  void at_end(World& world) override;

 private:
  void look(World& world, std::uint32_t host);

  std::pair<std::uint32_t, std::uint64_t> looked_at_ = {0, 0};  ///< Host and step of the world.
};

/// Both; add_checkers() has them, too.
void add_share_checkers(World& world);

}  // namespace muster::sim
