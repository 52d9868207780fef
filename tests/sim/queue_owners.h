#pragma once
// Operators of a swarm who replace the tree of queues under the running jobs, rightly and wrongly;
// and the queues and tiers that its submits name.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "gossip/base/rng.h"
#include "scheduler/protocol/job.h"
#include "tests/sim/world.h"

namespace muster::sim {

/// With this chance, in millionths, the job names a queue or a tier. It may be refused until the
/// last tree is set.
void ask_for_queue(scheduler::JobSpec& spec, Rng& rng, std::uint32_t chance);

class QueueOwners {
 public:
  /// All outlive it. The swarm owns `rng` and `counts`.
  /// `is_wide`: trees are those of queue_trees.h.
  QueueOwners(World& world, Rng& rng, std::map<std::string, std::uint64_t>& counts, bool is_wide)
      : world_(world), rng_(rng), counts_(counts), is_wide_(is_wide) {}

  /// Sets a tree at random, sometimes from a version that is over, or without saying where jobs go.
  void change();
  /// Unless `leader` has it: sets the tree that keeps no job out for ever.
  void set_last(std::uint32_t leader);
  /// Changes queue, tier, priority or time limit of some job that has not ended.
  void edit();

 private:
  void say(const scheduler::QueueBook& before, scheduler::QueueTree tree, bool is_right);
  scheduler::QueueTree some_tree();
  void add_node(scheduler::QueueTree& tree, std::string_view path, bool may_have_guarantee);

  World& world_;
  Rng& rng_;
  std::map<std::string, std::uint64_t>& counts_;
  bool is_wide_;
};

}  // namespace muster::sim
