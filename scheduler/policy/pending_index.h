#pragma once
// The waiting jobs: by leaf in their order, and in rings by leaf, tier and shape. Jobs of one ring
// are tried in their order, and a result for the first of them holds for all, so an event costs the
// same whether a hundred jobs wait or a hundred thousand. A ring stands in each pool that its jobs
// accept; ShareOrder says which ring is first in a pool. Pools are independent, and a pool is
// strict: its first ring is tried, and if that is blocked there, the pool waits. While a leader
// keeps hosts for the first job (start_plan.h) the pool passes rings that are blocked: of the
// others the first is tried, in the order that these alone would have.
//
// The index follows from the log's state; every voter keeps it beside that. A leader adds which
// rings are blocked or aside in which pools, and for which jobs it has asked the log. Owned by
// Scheduler; pure.
//
// Jobs with limits of another length are in another ring, for a short job may pass where a long one
// may not.
//
// A job that leaves hosts out is alone in its ring: its result holds for no other job. It may stay
// alone after it leaves out no host any more. A ring whose jobs are above a max of its queues even
// while nothing is held does not stand in that pool, so that others pass it.
//
// Invariants: if the caller called on_changed() for each job that is or was pending or whose place
// changed, on_host() for each host whose record changed, on_share(), on_credits() and on_queues()
// for what an ApplyResult says, then the leaves hold exactly the pending jobs, each of them is in
// one ring, and the index equals one made from the state now, with the same jobs hidden and the
// same rings blocked, aside or raised.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "scheduler/placement/shape.h"
#include "scheduler/policy/queue_key.h"
#include "scheduler/policy/ring_order.h"
#include "scheduler/state/state.h"

namespace muster::scheduler {

/// A job to try, and where.
struct Next {
  JobId job;
  /// Folded, in no order: the GPU types of the pools in which it is first. Empty: it asks for no
  /// GPUs.
  std::vector<std::string> types;
};

class PendingIndex {
 public:
  explicit PendingIndex(const State& state) { rebuild(state); }

  /// Starts again with a replaced state; no job is hidden, no ring blocked, aside or raised.
  void rebuild(const State& state);
  /// O(log of the waiting jobs); O(pools * depth * log) if the job is or was the first of its ring.
  void on_changed(const State& state, JobId job);
  /// The record of the host changed. O(rings) if no host had its GPU type before.
  void on_host(const State& state, const HostId& host);
  /// More or less is held of the share. O(pools * depth * log).
  void on_share(const State& state, const AttemptShare& share) { order_.on_share(state, share); }
  /// O(pools * queues and leaves).
  void on_credits(const State& state) { order_.on_credits(state); }
  /// The tree of queues is another one. Jobs stay hidden; no ring is blocked, aside or raised any
  /// more, and all pools are strict. O(waiting jobs).
  void on_queues(const State& state);

  /// A job that is first in a pool and not blocked there, or first among those not blocked where
  /// that pool passes. If there are several, one that is first wherever it may be tried, and then
  /// the one with the better QueueKey. nullopt: all pools wait. O(pools).
  std::optional<Next> next() const;
  /// The first job of the pool, blocked there or not; nullopt: no queue has one that it may start.
  std::optional<JobId> first_in(std::string_view pool) const;
  /// All waiting jobs, best first in each leaf, including hidden ones.
  const LeafQueues& queue() const { return queues_; }

  // Of a leader. Precondition of those about a job: it waits. `types` are folded GPU types, empty
  // for the pool of jobs without GPUs; `pool` is one of them, or kCpuPool.
  /// The leader asked the log for the job: it is not tried until show(), and its queues count as
  /// holding `charge` in the pool meanwhile.
  void hide(JobId job, std::string_view pool, std::uint64_t charge);
  bool is_hidden(JobId job) const { return hidden_.contains(job); }
  /// The job may be tried again, if it still waits; its charge does not count any more.
  void show(JobId job);
  /// No job of its ring fits there now, until wake() finds that one may. `is_kept_out`: hosts that
  /// are kept for others were not tried; it may fit once fewer are kept, see unblock_kept_out().
  void block(JobId job, std::span<const std::string> types, bool is_kept_out = false) {
    block_in(jobs_.at(job).ring, pools_of(types), is_kept_out);
  }
  bool is_blocked(JobId job, std::string_view pool) const;
  /// Fewer hosts are kept for others, or for longer. O(rings that were kept out).
  void unblock_kept_out();
  /// The pool passes rings that are blocked from here on, beside this job: that is tried before all
  /// others there once its ring is not blocked, and its queues count as holding `charge` more for
  /// the others. A pool begins strict, and is strict again once the job does not wait any more.
  void pass(std::string_view pool, JobId job, std::uint64_t charge);
  void be_strict(std::string_view pool);
  /// Pools of one type that are strict, with their first job, which is blocked there. O(pools).
  std::vector<std::pair<std::string, JobId>> stuck() const;
  /// The hosts there that are up and not left out could not hold the job if all others ended. Other
  /// jobs pass its ring there until reopen(), or reopen_alone().
  void set_aside(JobId job, std::span<const std::string> types) {
    set_aside_in(jobs_.at(job).ring, pools_of(types));
  }
  /// How much more the queues of the job may get of the pool; UINT64_MAX: no limit.
  std::uint64_t room(JobId job, std::string_view pool) const;
  /// A job of its ring would hold `charge` in the pool, which is more than its request says. False
  /// if that is not more than was known. Holds until wake() finds that hosts changed there.
  bool raise(JobId job, std::string_view pool, std::uint64_t charge);
  /// Something became free on a host: unblocks the rings that can use it, in the pool of its GPU
  /// type and in that of jobs without GPUs. O(rings blocked there and raised).
  void wake(const HostKind& kind, const HostSpace& space);
  /// Unblocks jobs that leave hosts out: a host may be allowed again.
  void wake_alone();
  /// A host may be allowed again: no job that leaves hosts out is aside any more. O(rings aside).
  void reopen_alone();
  /// The hosts themselves changed, not only their free space: no ring is blocked, aside or raised
  /// any more.
  void reopen();
  /// The leadership is over: pools are strict again.
  void forget_leader();

  /// Checks the invariants. O(queue), for tests.
  bool is_right(const State& state) const;

 private:
  PendingIndex() = default;
  struct RingKey {
    Leaf leaf;
    Tier tier = Tier::kNone;
    Shape shape;
    std::int32_t limit = 0;  ///< length_of() its time limit.
    JobId alone;             ///< The job if it is alone in its ring; else JobId().
    auto operator<=>(const RingKey&) const = default;
  };
  struct Ring {
    const RingKey* key = nullptr;  ///< In `numbers_`.
    LeafNumber leaf{};
    Queue waiting;             ///< Without those hidden.
    std::size_t jobs = 0;      ///< With those hidden.
    std::uint64_t charge = 0;  ///< least_charge_of() of its jobs.
    PoolSet pools = 0;         ///< Where it stands, aside or not.
    PoolSet blocked = 0;
    PoolSet kept_out = 0;  ///< Of `blocked`: while hosts are kept for others.
    PoolSet aside = 0;
    std::map<PoolNumber, std::uint64_t> raised;  ///< Charges that are above `charge`.
    PoolSet open() const { return pools & ~aside; }
    RingHead head(const QueueKey& place, PoolNumber pool) const;
  };
  /// A job that a leader asked the log for.
  struct Ask {
    std::string pool;
    std::uint64_t charge = 0;
    bool is_counted = false;  ///< In the order of shares.
  };
  struct Known {
    RingNumber ring = 0;
    QueueKey place;
    std::optional<Ask> ask;  ///< While it is hidden.
  };

  void begin(const State& state);
  static RingKey key_of(const State& state, const Job& job, bool is_alone);
  void add(const State& state, const Job& job, RingKey key);
  void drop(std::map<JobId, Known>::iterator known);
  void move_within(Known& known, const QueueKey& place);
  RingNumber enter_ring(const State& state, const Job& job, RingKey key);
  void forget_ring(RingNumber number);
  PoolSet accepted(const RingKey& key) const;
  PoolSet pools_of(std::span<const std::string> types) const;
  void put(RingNumber number, const QueueKey& place);
  void take(RingNumber number, const QueueKey& place);
  void move_head(RingNumber number, PoolSet pools, const std::optional<QueueKey>& before,
                 const std::optional<QueueKey>& after);
  void renew_head(RingNumber number, PoolSet pools);
  void count_ask(Known& known, bool is_more);
  void take_back(RingNumber number);
  void block_in(RingNumber number, PoolSet pools, bool is_kept_out);
  void unblock(RingNumber number, PoolNumber pool);
  void set_aside_in(RingNumber number, PoolSet pools);
  void raise_in(RingNumber number, PoolNumber pool, std::uint64_t charge);
  void lower(RingNumber number, PoolSet pools);
  std::optional<Next> next_planned() const;
  void copy_leader(const PendingIndex& other);

  LeafQueues queues_;
  RingOrder order_;
  std::map<RingKey, RingNumber> numbers_;
  std::vector<Ring> rings_;
  std::vector<RingNumber> unused_;
  std::map<JobId, Known> jobs_;
  std::set<JobId> hidden_;
  std::vector<std::set<RingNumber>> blocked_;  ///< By pool.
  std::set<RingNumber> aside_;                 ///< Somewhere.
  std::set<RingNumber> raised_;                ///< Somewhere.
};

}  // namespace muster::scheduler
