#pragma once
// The order of jobs in one pool, worked out from what the log says about jobs, queues, attempts and
// hosts, by loops over all of them. It shares no code with scheduler/policy, scheduler/placement
// and scheduler/why, which the bench `order` holds against it. For jobs that ask for GPUs or ranks
// with the CPUs that belong to them, close together or not, but for no labels, names or memory.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "scheduler/state/state.h"

namespace muster::bench {

/// The rule that puts the first job of a pool before another one, in the words of WhyTurn::rule.
struct OraclePlace {
  std::string rule;
  scheduler::QueueNumber own = scheduler::kRootQueue;  ///< Of "max": the queue without room.
  scheduler::QueueNumber other = scheduler::kRootQueue;
  std::string own_user;  ///< "" = the queue itself.
  std::string other_user;
  std::uint64_t own_held = 0;  ///< Thousandths.
  std::uint64_t other_held = 0;
};

class OrderOracle {
 public:
  /// `pool`: a folded GPU type, or "no gpu". The state outlives it and does not change.
  OrderOracle(const scheduler::State& state, std::string pool);

  /// The first job; nullopt: none may start. `passes_large`: jobs are passed that the hosts of the
  /// pool that are up could not hold if nothing ran there, as a leader passes them.
  std::optional<JobId> first(bool passes_large) const;
  /// The rule that puts the first job before that one, which waits. Such large jobs are passed.
  OraclePlace place(JobId job) const;

  /// Whether the job may count in this pool at all: kind, hosts, and each max while nothing runs.
  bool takes(const scheduler::Job& job, bool passes_large) const;
  /// Whether it fits now, or would if these jobs had ended.
  bool fits(const scheduler::Job& job, const std::set<JobId>& ended = {}) const;
  bool could_hold(const scheduler::Job& job) const;
  /// Each max above the job that has no room for it: queue and key.
  std::set<std::pair<std::string, std::string>> full(const scheduler::Job& job) const;

 private:
  struct Side {
    const scheduler::Job* next = nullptr;
    bool is_owed = false;
    std::uint64_t held = 0;
    std::uint64_t divisor = 1;
    scheduler::QueueNumber queue = scheduler::kRootQueue;
    std::optional<std::string> user;  ///< nullopt: it is the queue.
  };

  std::uint64_t held_below(scheduler::QueueNumber queue, const std::string& key) const;
  std::uint64_t held_by(scheduler::QueueNumber queue, const std::string& user) const;
  bool has_room(scheduler::QueueNumber queue, const scheduler::Job& job) const;
  bool counts(const std::string& key) const;
  bool is_below(scheduler::QueueNumber low, scheduler::QueueNumber high) const;
  std::string user_of(const scheduler::Job& job) const;
  std::vector<Side> sides(scheduler::QueueNumber queue, bool passes_large) const;
  std::optional<Side> best(scheduler::QueueNumber queue, bool passes_large) const;
  const scheduler::Job* next(scheduler::QueueNumber queue, bool passes_large) const;
  std::uint32_t units(const scheduler::Job& job, bool are_free, const std::set<JobId>& ended) const;
  void find_full(scheduler::QueueNumber leaf, OraclePlace& place) const;

  const scheduler::State& state_;
  std::string pool_;
};

/// The jobs before that one in its leaf that wait for a pool of it and that hosts could hold.
std::size_t oracle_ahead(const scheduler::State& state, const std::vector<std::string>& pools,
                         JobId job);

}  // namespace muster::bench
