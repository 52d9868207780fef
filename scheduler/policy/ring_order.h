#pragma once
// The order of rings, pool by pool: each leaf offers the first job of its best ring, and shares
// decide between leaves. There are two such orders: of all rings, and of those alone that are not
// blocked, which counts while the pool passes those that are. Owned by PendingIndex, which says
// what the first job of each ring is; pure.
//
// Invariant: both orders have the same leaves under the same numbers, and each leaf offers the
// first of its rings that could start while its queues hold nothing.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/policy/queue_key.h"
#include "scheduler/policy/share_order.h"
#include "scheduler/state/state.h"

namespace muster::scheduler {

/// A dense number of the pending index alone.
using RingNumber = std::size_t;

/// The first job of a ring, as it stands in a pool.
struct RingHead {
  QueueKey place;
  std::uint64_t charge = 0;  ///< Held once it starts.
  bool is_blocked = false;   ///< There.
};

/// A job for which hosts are kept in a pool, and what its queues count as holding beside the log
/// for all others there.
struct PlannedJob {
  JobId job;
  LeafNumber leaf{};
  std::uint64_t charge = 0;
  bool operator==(const PlannedJob&) const = default;
};

class RingOrder {
 public:
  /// Starts again with the queues of that state, the pool of jobs without GPUs, and no leaf; all
  /// pools are strict.
  void rebuild(const State& state);
  /// See ShareOrder::enter_pool().
  PoolNumber enter_pool(const State& state, const std::string& type);
  /// See ShareOrder::enter().
  LeafNumber enter(const State& state, const Leaf& leaf);
  /// Precondition: it has no ring.
  void forget(const Leaf& leaf);

  /// The ring had its first job there, and has another one, or stands there no more. A leaf of that
  /// queue owns it.
  void move(PoolNumber pool, LeafNumber leaf, RingNumber ring,
            const std::optional<QueueKey>& before, const std::optional<RingHead>& after);
  /// See ShareOrder.
  void ask(PoolNumber pool, LeafNumber leaf, std::int64_t charge);
  void on_share(const State& state, const AttemptShare& share);
  void on_credits(const State& state);

  /// The pool passes rings that are blocked from here on, beside that job. A pool begins strict.
  void pass(PoolNumber pool, const PlannedJob& planned);
  void be_strict(PoolNumber pool);
  /// Pools that pass for the job are strict again.
  void forget_plans_for(JobId job);
  bool passes(PoolNumber pool) const { return planned_.contains(pool); }
  /// Of pools that pass.
  const std::map<PoolNumber, PlannedJob>& planned() const { return planned_; }
  /// The first one, blocked or not; where the pool passes, the first that is not. Null: no queue
  /// has one that it may start.
  const Offer* first(PoolNumber pool) const { return (passes(pool) ? open_ : all_).first(pool); }
  /// Pools, shares and what is first of all.
  const ShareOrder& all() const { return all_; }
  /// For tests.
  std::string text() const { return all_.text() + open_.text(); }

 private:
  /// Of one leaf in one pool, with the charges.
  using Heads = std::map<std::pair<QueueKey, RingNumber>, std::uint64_t>;
  struct LeafHeads {
    Heads all;
    Heads open;
  };
  struct LeafRings {
    QueueNumber queue = kRootQueue;
    std::vector<LeafHeads> by_pool;
  };
  std::optional<Offer> offer_of(const Heads& heads, PoolNumber pool, QueueNumber queue) const;

  ShareOrder all_;
  ShareOrder open_;
  std::map<PoolNumber, PlannedJob> planned_;
  std::vector<LeafRings> leaves_;  ///< By LeafNumber.
};

}  // namespace muster::scheduler
