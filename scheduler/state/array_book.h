#pragma once
// Arrays: jobs of many tasks, each one record here whatever its length. A task becomes a job of its
// own (ids.h: task_id) when it is about to be tried, so that an array that waits costs one record;
// what then follows of it is a job's life like any other. Owned by Books; pure.
//
// Invariants: tasks below `next` are jobs, have ended or were cancelled, and no others but those in
// `adopted`; completed, failed, cancelled, active and folded() add up to the length; an array has
// ended exactly when all of its tasks have.

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/protocol/job.h"
#include "scheduler/state/job_record.h"

namespace muster::scheduler {

inline constexpr std::size_t kArraysMax = 10'000;  ///< That have not ended.
inline constexpr std::size_t kArraysEndedKept = 1'000;
/// What ended arrays may weigh together; the ones that ended first are forgotten.
inline constexpr std::size_t kArraysEndedBytesMax = 8 << 20;
/// Tasks of one array that are in the queue, at most: one at first, and one more for each that was
/// tried.
inline constexpr std::uint32_t kTasksWaitingMax = 256;
/// Tasks of one array that pause after a failure and are not counted among those, at most. Higher:
/// of an array whose every task fails more are jobs at once; lower: its other tasks wait sooner.
inline constexpr std::uint32_t kTasksPausingMax = 1024;
/// TaskArray::skipped; beyond it only what is left of the array as a whole is cancelled.
inline constexpr std::size_t kSkippedRunsMax = 256;

struct TaskArray {
  JobId id;
  JobSpec spec;  ///< With JobSpec::array.
  std::string key;
  std::string submitted_by;
  std::int32_t priority = 0;
  /// The first task whose turn has not come; behind the last one: none is left.
  std::uint32_t next = 0;
  /// Cancelled before their turn: first and last of each run from `next` on, in order, apart. Those
  /// of `adopted` in a run are jobs all the same; numbers without a task may lie in it.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> skipped;
  std::uint32_t completed = 0;
  std::uint32_t failed = 0;
  std::uint32_t cancelled = 0;  ///< The skipped ones that were passed among them.
  std::string cancelled_by;     ///< Of the whole array; "" = nobody did.
  Duration submitted_at{0};     ///< Cluster time.
  std::int64_t submitted_unix_ms = 0;
  std::int64_t ended_unix_ms = 0;
  LogIndex ended_index;  ///< 0 = it has not ended.
  /// Tasks from `next` on that are jobs already, or were: adopted after a recovery. In order.
  std::vector<std::uint32_t> adopted;
  // Derived from the jobs.
  std::uint32_t queued = 0;  ///< Tasks that are jobs and wait their turn; no suspended ones.
  std::uint32_t suspended = 0;
  std::uint32_t active = 0;  ///< Tasks that are jobs and have not ended, those among them.
  bool operator==(const TaskArray&) const = default;

  bool holds(std::uint32_t index) const { return spec.array->holds(index); }
  std::uint32_t length() const { return spec.array->length(); }
  bool is_unfolded() const { return next > spec.array->last; }
  bool has_ended() const { return ended_index != LogIndex(); }
  /// Tasks whose turn has not come, those that were cancelled before it among them.
  std::uint32_t folded() const { return length() - completed - failed - cancelled - active; }
  /// Tasks that are at work, or about to be.
  std::uint32_t running() const { return active - queued - suspended; }
  bool is_skipped(std::uint32_t index) const;
  /// Of folded() those that were cancelled.
  std::uint32_t skipped_count() const;
  /// kQueued, kRunning, or how it ended: failed if a task did.
  JobState state() const;
  /// No job yet, and to become one: a lost log may have had it as one.
  bool may_adopt(std::uint32_t index) const;
  /// It is a job now, out of its turn. Precondition: may_adopt().
  void adopt(std::uint32_t index);
  /// Tasks first to last will be no jobs, unless they are.
  void skip(std::uint32_t first, std::uint32_t last);
  /// The turn of skipped ones passes, as it came.
  void pass_skipped();
};

class ArrayBook {
 public:
  using Arrays = std::map<JobId, TaskArray>;

  ArrayBook() = default;
  /// Of a snapshot; what is derived is yet to be counted.
  explicit ArrayBook(Arrays arrays);

  const Arrays& all() const { return arrays_; }
  const TaskArray* find(JobId id) const;
  TaskArray* find(JobId id);
  std::size_t unended() const { return arrays_.size() - ended_.size(); }

  TaskArray& add(TaskArray array);
  /// A job that is a task went from one state to another; `is_new`: it was none before.
  void on_moved(JobId task, JobState from, JobState to, bool is_new);
  /// Of a snapshot: such a task is a job.
  void count(JobId task, JobState state);
  /// It ends here; the ones that ended first are forgotten once there are too many.
  void end(TaskArray& array, LogIndex index, std::int64_t unix_ms);
  void check(const std::map<JobId, Job>& jobs) const;
  bool operator==(const ArrayBook& other) const { return arrays_ == other.arrays_; }

 private:
  Arrays arrays_;
  // Derived.
  std::set<std::pair<LogIndex, JobId>> ended_;
  std::size_t ended_bytes_ = 0;
};

}  // namespace muster::scheduler
