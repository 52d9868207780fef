#pragma once
// The jobs and arrays that wait for the end of others, or for a time, and those with a deadline.
// Derived from their records (JobWait), but for the ends that are still to be told: one end may
// concern many jobs, and one entry of the log tells only some of them. Owned by Books; pure.
//
// Invariant: it lists exactly the open conditions of jobs and arrays that have not ended, and of
// those about a job that has ended, the end is in over(). Therefore no condition is about a job
// that is forgotten.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "scheduler/state/job_record.h"

namespace muster::scheduler {

/// How a job, task or array stands whose dependents are still to be told.
struct Over {
  JobId id;
  JobState state = JobState::kCompleted;
  bool has_ended = true;  ///< False: an array goes on, but not all of its tasks will complete.
  bool operator==(const Over&) const = default;
};

class EligibilityBook {
 public:
  /// Lists the open conditions of a job or array that has not ended.
  void add(JobId id, const JobWait& wait);
  /// Takes them out again. Does nothing for those that are not listed.
  void remove(JobId id, const JobWait& wait);

  /// Whether some job waits for cluster time, or for the next entry.
  bool needs_time() const { return !begins_.empty() || !deadlines_.empty() || !over_.empty(); }
  /// The tasks first to last of this array that open conditions are about.
  std::vector<JobId> awaited_tasks(JobId array, std::uint32_t first, std::uint32_t last) const;
  /// The first `limit` jobs and arrays whose begin has come, or whose deadline has passed, at this
  /// cluster time.
  std::vector<JobId> begun(Duration cluster_time, std::size_t limit) const;
  std::vector<JobId> late(Duration cluster_time, std::size_t limit) const;

  /// Notes an end, if an open condition is about it.
  void note(const Over& over);
  /// An end and a job or array with a condition about it, which the caller then changes so that it
  /// is open no more; nullopt if all have been told.
  std::optional<std::pair<Over, JobId>> next_told();
  const std::deque<Over>& over() const { return over_; }
  /// From a snapshot.
  void set_over(std::deque<Over> over) { over_ = std::move(over); }
  bool operator==(const EligibilityBook&) const = default;

 private:
  using Key = std::pair<JobId, Ending>;
  /// Null if no open condition is about it.
  const std::set<JobId>* concerned(const Over& over) const;

  std::map<Key, std::set<JobId>> dependents_;       ///< By the job that has to end, and how.
  std::set<std::pair<Duration, JobId>> begins_;     ///< By JobWait::begin_at.
  std::set<std::pair<Duration, JobId>> deadlines_;  ///< By JobWait::deadline_at.
  std::deque<Over> over_;  ///< In the order in which they ended; the only part that is not derived.
};

}  // namespace muster::scheduler
