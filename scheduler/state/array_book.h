#pragma once
// Arrays: jobs of many tasks. An array is one record, whatever its length. A task becomes a job of
// its own (ids.h: task_id) when it is about to be tried, so a waiting array costs one record. From
// then on a task lives as any other job. Owned by Books; pure.
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

inline constexpr std::size_t kArraysMax = 10'000;  ///< Arrays that have not ended.
inline constexpr std::size_t kArraysEndedKept = 1'000;
/// Size of all ended arrays together; the ones that ended first are forgotten.
inline constexpr std::size_t kArraysEndedBytesMax = 8 << 20;
/// Maximum of tasks of one array in the queue: one at first, and one more for each that was tried.
inline constexpr std::uint32_t kTasksWaitingMax = 256;
/// Maximum of tasks of one array that pause after a failure and do not count among those. Higher:
/// an array whose every task fails has more jobs at once. Lower: its other tasks wait sooner.
inline constexpr std::uint32_t kTasksPausingMax = 1024;
/// Runs in TaskArray::skipped; beyond it only a cancel through the last task is accepted.
inline constexpr std::size_t kSkippedRunsMax = 256;

struct TaskArray {
  JobId id;
  JobSpec spec;  ///< With JobSpec::array.
  std::string key;
  std::string submitted_by;
  std::int32_t priority = 0;
  /// The first task whose turn has not come; behind the last task once all turns came.
  std::uint32_t next = 0;
  /// Tasks cancelled before their turn: first and last of each run from `next` on, ascending and
  /// disjoint. Tasks in `adopted` are jobs also within a run; a run may contain numbers of no task.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> skipped;
  std::uint32_t completed = 0;
  std::uint32_t failed = 0;
  std::uint32_t cancelled = 0;  ///< Includes the skipped tasks that were passed.
  std::string cancelled_by;     ///< Set if the whole array was cancelled; else "".
  Duration submitted_at{0};     ///< Cluster time.
  std::int64_t submitted_unix_ms = 0;
  std::int64_t ended_unix_ms = 0;
  LogIndex ended_index;  ///< 0 = it has not ended.
  /// Tasks from `next` on that are jobs already, or were: adopted after a recovery. Ascending.
  std::vector<std::uint32_t> adopted;
  JobWait wait{};  ///< Of the array as a whole; its tasks have no conditions of their own.
  // Derived from the jobs.
  std::uint32_t queued = 0;  ///< Tasks that are jobs and wait their turn, without suspended ones.
  std::uint32_t suspended = 0;
  std::uint32_t active = 0;  ///< Tasks that are jobs and have not ended; includes both above.
  bool operator==(const TaskArray&) const = default;

  bool holds(std::uint32_t index) const { return spec.array->holds(index); }
  std::uint32_t length() const { return spec.array->length(); }
  bool is_unfolded() const { return next > spec.array->last; }
  bool has_ended() const { return ended_index != LogIndex(); }
  /// Tasks whose turn has not come, including those that were cancelled before it.
  std::uint32_t folded() const { return length() - completed - failed - cancelled - active; }
  /// Tasks that are at work, or about to be.
  std::uint32_t running() const { return active - queued - suspended; }
  bool is_skipped(std::uint32_t index) const;
  /// Tasks of folded() that were cancelled.
  std::uint32_t skipped_count() const;
  /// kQueued, kRunning, or the end of the array: failed if a task failed.
  JobState state() const;
  /// Whether the task is not a job yet but will be: a lost log may have made it one.
  bool may_adopt(std::uint32_t index) const;
  /// The task is a job now, out of its turn. Precondition: may_adopt().
  void adopt(std::uint32_t index);
  /// Tasks first to last do not become jobs, except those that are.
  void skip(std::uint32_t first, std::uint32_t last);
  /// Moves `next` past tasks that were skipped and counts them as cancelled.
  void pass_skipped();
  /// Counts the tasks whose turn has not come as failed, those among them that were cancelled as
  /// cancelled. No task becomes a job any more.
  void fail_folded();
};

class ArrayBook {
 public:
  using Arrays = std::map<JobId, TaskArray>;

  ArrayBook() = default;
  /// From a snapshot; the caller then counts what is derived.
  explicit ArrayBook(Arrays arrays);

  const Arrays& all() const { return arrays_; }
  const TaskArray* find(JobId id) const;
  TaskArray* find(JobId id);
  std::size_t unended() const { return arrays_.size() - ended_.size(); }

  TaskArray& add(TaskArray array);
  /// A job that is a task moved between two states; `is_new`: the task was not a job before.
  void on_moved(JobId task, JobState from, JobState to, bool is_new);
  /// From a snapshot: the task is a job in this state.
  void count(JobId task, JobState state);
  /// The array ends; if too many have ended, those that ended first are forgotten, never itself.
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
