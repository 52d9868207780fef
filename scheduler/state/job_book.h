#pragma once
// The jobs that the log knows: queued, suspended, with an attempt, and the last that ended. The
// order in which waiting jobs are tried is in scheduler/policy. Owned by Books; pure.
//
// Invariants: pending() counts the jobs that are queued, do not pause and have no open condition
// (JobWait, changed by set_wait() alone before their first attempt); those that ended are
// listed by their end; no number is given twice. Job::state is changed by move() alone, and only as
// job_life.h says, Failures::retry_at by pause_until(), move(), end_pause() and end_pauses(); its
// id never changes. Rules may change every other field of a job.

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "gossip/base/indexed_map.h"
#include "scheduler/state/job_life.h"
#include "scheduler/state/job_record.h"

namespace muster::scheduler {

inline constexpr std::size_t kJobsQueuedMax = 100'000;  ///< Suspended ones among them.
inline constexpr std::size_t kJobsEndedKept = 10'000;
inline constexpr std::size_t kLeftOutMax = 64;  ///< Hosts that one job leaves out.

class JobBook {
 public:
  JobBook() = default;
  /// From a snapshot. `last`: the last number that was given.
  JobBook(std::map<JobId, Job> jobs, JobId last);

  const std::map<JobId, Job>& all() const { return jobs_.map(); }
  /// Jobs waiting for an attempt (Job::is_pending), without those that pause.
  std::size_t pending() const { return pending_; }
  bool has_pauses() const { return !pauses_.empty(); }
  /// Number of tasks of this array that pause.
  std::uint32_t pausing_tasks(JobId array) const;
  /// Number of jobs that are queued, those that pause or wait for others included, or suspended.
  std::size_t waiting() const { return pending_ + pauses_.size() + conditional_ + suspended_; }
  std::size_t ended() const { return ended_.size(); }
  /// The last number that was given, or left out.
  JobId last() const { return last_; }
  const JobStepCounts& steps() const { return steps_; }
  const Job* find(JobId id) const;
  Job* find(JobId id);
  /// Precondition: it is known.
  Job& at(JobId id);
  /// Precondition: some job ended.
  const Job& first_ended() const;

  JobId give_number();
  /// Skips `count` numbers: no job gets them.
  void leave_out_numbers(std::uint64_t count);
  /// Adds a new job, which is queued. The reference is valid until the job is forgotten.
  Job& add(Job job);
  /// Moves the job as the table says for the event. Precondition: the table has a move there, and a
  /// job that ends by it has its ended_index.
  void move(Job& job, JobEvent event);
  /// The job, which is queued again next, is not tried before `retry_at`.
  void pause_until(Job& job, Duration retry_at);
  /// Precondition: the job is not queued, or does not pause.
  void set_wait(Job& job, JobWait wait);
  /// Ends the pause of one job. Precondition: it pauses.
  void end_pause(Job& job);
  /// Ends all pauses that are over at this cluster time, and returns their jobs.
  std::vector<JobId> end_pauses(Duration cluster_time);
  /// Counts a use of the table's cell that leaves the job in its state.
  void count(const Job& job, JobEvent event) { steps_.add(job.life.state, event); }
  /// Precondition: some job ended.
  void forget_first_ended();
  /// The next attempts of the job avoid the host. Beyond kLeftOutMax hosts the oldest is allowed
  /// again.
  void leave_out(Job& job, const LeftOut& out);
  /// The host registered again: no job leaves it out any more.
  void allow_again(const HostId& host);
  /// Allows hosts again that were left out until then. False if there was no such host.
  bool allow_again_until(Duration cluster_time);
  /// Relaxes the pack of queued jobs that waited long enough for it, and returns these jobs.
  std::vector<JobId> relax_until(Duration cluster_time);

  /// Cheap, for every step.
  void check() const;
  /// In O(jobs).
  void check_everything() const;

 private:
  void begin_queued(const Job& job);
  void end_queued(const Job& job);
  void begin_pause(const Job& job);
  void forget_pause(Job& job);

  JobId last_;
  IndexedMap<JobId, Job> jobs_;
  // Derived.
  std::size_t pending_ = 0;
  std::size_t suspended_ = 0;
  std::size_t conditional_ = 0;  ///< Queued, with an open condition, and without a pause.
  std::set<std::pair<Duration, JobId>> packed_;   ///< Queued, by when their pack is relaxed.
  std::set<std::pair<Duration, JobId>> pauses_;   ///< Queued, by when they are tried again.
  std::map<JobId, std::uint32_t> pausing_tasks_;  ///< By array; those that have none are missing.
  std::set<JobId> picky_;  ///< Jobs that leave hosts out, and perhaps some that did before.
  std::set<std::pair<LogIndex, JobId>> ended_;  ///< By end, for forgetting the oldest.
  JobStepCounts steps_;
};

}  // namespace muster::scheduler
