#pragma once
// The jobs that wait, in their order, and by what they ask for: jobs of one shape are tried in the
// order of the queue, and what is found out for the first of them holds for all. So an event costs
// the same whether a hundred jobs wait or a hundred thousand. It follows from the log's state;
// every voter keeps it beside that. A leader adds which shapes are blocked or aside, and which jobs
// it has asked GPUs for. Owned by Scheduler; pure.
//
// A job that leaves hosts out is alone in its ring: what it finds out holds for no other. It may
// stay alone once it leaves none out any more.
//
// Invariants: on_changed() was said of each job that is pending now, or was, or whose place
// changed; then the queue holds exactly the pending ones, each of them stands in one ring, and
// first() is the first of the queue, without those that are hidden and those whose ring is aside.

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
  explicit PendingIndex(const State& state) { begin_anew(state); }

  /// The state was replaced; nothing is hidden, blocked or aside.
  void begin_anew(const State& state);
  /// O(log of what waits).
  void on_changed(const State& state, JobId job);

  /// The first of the queue that may be tried, blocked or not.
  std::optional<JobId> first() const;
  /// All that wait, best first, the hidden among them.
  const Queue& queue() const { return queue_; }

  // Of a leader. Precondition of those about a job: it waits.
  /// It has been asked for: it is no candidate until show().
  void hide(JobId job);
  /// If it still waits, it is one again.
  void show(JobId job);
  /// Nothing of its ring fits now; until wake() finds that it may.
  void block(JobId job);
  bool is_blocked(JobId job) const;
  /// The hosts that are up could not hold it, whatever ended: others pass it, until reopen().
  void set_aside(JobId job);
  /// Something became free on a host: rings that can use it are blocked no more. O(those blocked).
  void wake(const HostKind& kind, const HostSpace& space);
  /// Jobs that leave hosts out may have been let in.
  void wake_alone();
  /// What hosts have changed, not only what is free of it: nothing is blocked or aside any more.
  void reopen();
  /// The leadership is over.
  void forget_leader();

  /// In O(queue), for tests.
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
  void put(RingNumber number, const QueueKey& place);
  void take(RingNumber number, const QueueKey& place);
  void drop(std::map<JobId, Known>::iterator known);

  Queue queue_;
  std::map<RingKey, RingNumber> numbers_;
  std::vector<Ring> rings_;
  std::vector<RingNumber> unused_;
  std::map<JobId, Known> jobs_;
  /// The first of each ring that is not aside and has any that are not hidden.
  std::set<std::pair<QueueKey, RingNumber>> heads_;
  std::set<RingNumber> blocked_;
  std::set<RingNumber> aside_;
};

}  // namespace muster::scheduler
