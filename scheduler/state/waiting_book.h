#pragma once
// WaitingBook: how many jobs wait in each queue and below it: jobs that are queued, pausing ones
// included, or suspended, and tasks of arrays whose turn has not come. For the max-pending of a
// queue: a submit must not count jobs one by one. Owned by Books; pure; derived from jobs and
// arrays.
//
// Invariants: each queue has its own jobs and those of the queues below it; queues where nothing
// waits are missing.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "scheduler/state/array_book.h"
#include "scheduler/state/job_record.h"

namespace muster::scheduler {

/// Numbers by queue, added up the tree. Paths alone matter: a queue need not be in a tree.
class QueueTotals {
 public:
  void add(std::string_view path, std::uint64_t count);
  /// Precondition: as many were added.
  void remove(std::string_view path, std::uint64_t count);
  /// Of the queue and those below it.
  std::uint64_t of(std::string_view path) const;
  bool operator==(const QueueTotals&) const = default;

 private:
  std::map<std::string, std::uint64_t, std::less<>> counts_;  ///< Above 0.
};

/// Jobs that a submit adds to those that wait: 1, or the tasks of its array.
std::uint64_t job_count(const JobSpec& spec);

class WaitingBook {
 public:
  /// A job is new, and queued.
  void add(const Job& job) { counts_.add(job.spec.queue, 1); }
  /// The job was in state `from`.
  void on_moved(const Job& job, JobState from);
  /// The job came from another queue.
  void on_queue_changed(const Job& job, const std::string& from);
  /// The queue of the array changed, or which of its tasks wait for their turn.
  void recount(const TaskArray& array);

  /// Jobs that wait in the queue and below it. O(log queues).
  std::uint64_t in(std::string_view path) const { return counts_.of(path); }
  bool operator==(const WaitingBook&) const = default;

 private:
  /// An array counts as so many, there.
  struct Folded {
    std::string queue;
    std::uint32_t tasks = 0;
    bool operator==(const Folded&) const = default;
  };

  QueueTotals counts_;
  std::map<JobId, Folded> arrays_;  ///< Arrays with such tasks.
};

}  // namespace muster::scheduler
