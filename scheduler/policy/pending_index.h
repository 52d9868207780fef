#pragma once
// The waiting jobs, in their order, and in rings by shape. Jobs of one shape are tried in the order
// of the queue, and a result for the first of them holds for all, so an event costs the same
// whether a hundred jobs wait or a hundred thousand. The index follows from the log's state; every
// voter keeps it beside that. A leader adds which shapes are blocked or aside, and for which jobs
// it has asked the log. Owned by Scheduler; pure.
//
// A job that leaves hosts out is alone in its ring: its result holds for no other job. It may stay
// alone after it leaves out no host any more.
//
// Invariants: if the caller called on_changed() for each job that is or was pending or whose place
// changed, then the queue holds exactly the pending jobs, each of them is in one ring, and first()
// is the first of the queue without hidden jobs and without rings that are aside.

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "scheduler/placement/shape.h"
#include "scheduler/policy/queue_key.h"
#include "scheduler/state/state.h"

namespace muster::scheduler {

class PendingIndex {
 public:
  explicit PendingIndex(const State& state) { rebuild(state); }

  /// Starts again with a replaced state; no job is hidden, no ring blocked or aside.
  void rebuild(const State& state);
  /// O(log of the waiting jobs).
  void on_changed(const State& state, JobId job);

  /// The first of the queue that may be tried, blocked or not.
  std::optional<JobId> first() const;
  /// All waiting jobs, best first, including hidden ones.
  const Queue& queue() const { return queue_; }

  // Of a leader. Precondition of those about a job: it waits.
  /// The leader asked the log for the job: it is not tried until show().
  void hide(JobId job);
  /// The job may be tried again, if it still waits.
  void show(JobId job);
  /// No job of its ring fits now, until wake() finds that one may.
  void block(JobId job);
  bool is_blocked(JobId job) const;
  /// The hosts that are up and not left out could not hold the job if all others ended. Other jobs
  /// pass its ring until reopen(), or reopen_alone().
  void set_aside(JobId job);
  /// Something became free on a host: unblocks the rings that can use it. O(blocked rings).
  void wake(const HostKind& kind, const HostSpace& space);
  /// Unblocks jobs that leave hosts out: a host may be allowed again.
  void wake_alone();
  /// A host may be allowed again: no job that leaves hosts out is aside any more. O(rings aside).
  void reopen_alone();
  /// The hosts themselves changed, not only their free space: no ring is blocked or aside any more.
  void reopen();
  /// The leadership is over.
  void forget_leader();

  /// Checks the invariants. O(queue), for tests.
  bool is_right(const State& state) const;

 private:
  /// A shape, and the job if it is alone in its ring.
  using RingKey = std::pair<Shape, JobId>;
  struct Ring {
    const RingKey* key = nullptr;  ///< In `numbers_`.
    Queue waiting;                 ///< Without those hidden.
    std::size_t jobs = 0;          ///< With those hidden.
    bool is_aside = false;
  };
  using RingNumber = std::size_t;
  struct Known {
    RingNumber ring = 0;
    QueueKey place;
    bool is_hidden = false;
  };
  RingNumber ring_of(const RingKey& key);
  void take_back(RingNumber number);
  void put(RingNumber number, const QueueKey& place);
  void take(RingNumber number, const QueueKey& place);
  void drop(std::map<JobId, Known>::iterator known);

  Queue queue_;
  std::map<RingKey, RingNumber> numbers_;
  std::vector<Ring> rings_;
  std::vector<RingNumber> unused_;
  std::map<JobId, Known> jobs_;
  /// The first job of each ring that is not aside and has jobs that are not hidden.
  std::set<std::pair<QueueKey, RingNumber>> heads_;
  std::set<RingNumber> blocked_;
  std::set<RingNumber> aside_;
};

}  // namespace muster::scheduler
