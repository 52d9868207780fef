#pragma once
// Sizes of the parts of the state, and their limits. The state must fit into one snapshot
// (kSnapshotBytesMax), so parts that grow with the users' work are bounded in bytes too, not only
// in number. The size of a part follows from fields that do not change while it is counted:
// a voter that starts from a snapshot counts the same as the others.

#include <cstddef>
#include <string>

#include "scheduler/state/job_record.h"
#include "scheduler/state/reservations.h"

namespace muster::scheduler {

/// Limits in bytes. Together 200 MiB of the 256; the rest is for the audit (kAuditBytesMax), hosts,
/// live attempts, hosts left out and the least of histories. The same at all voters: another number
/// needs another kStateHashForm.
struct KeptBytesMax {
  /// Jobs that have not ended; beyond it the log refuses submits.
  std::size_t unfinished_jobs = 64 << 20;
  /// Ended jobs with their histories and attempts; the first to end are forgotten first.
  std::size_t ended_jobs = 40 << 20;
  /// Attempts of unfinished jobs, without the newest of each; the oldest are forgotten first.
  std::size_t earlier_attempts = 24 << 20;
  /// Histories of unfinished jobs; beyond it each keeps its last kTransitionsLeast steps.
  std::size_t histories = 16 << 20;
  /// The oldest keys are forgotten first, sooner than kClientKeyLife: a million submits a week.
  std::size_t client_keys = 56 << 20;
};

/// Counted sizes in bytes, for the limits of KeptBytesMax.
struct KeptBytes {
  std::size_t unfinished_jobs = 0;
  std::size_t ended_jobs = 0;
  std::size_t earlier_attempts = 0;
  std::size_t histories = 0;
  std::size_t client_keys = 0;
  bool operator==(const KeptBytes&) const = default;
};

/// Without its history and attempts.
std::size_t kept_bytes_of_job(const JobSpec& spec, const std::string& key, const std::string& by);
/// With its conditions; those of the few arrays are not counted.
inline std::size_t kept_bytes(const Job& job) {
  constexpr std::size_t kWaitBytes = 64;  // Its times.
  constexpr std::size_t kItemBytes = 12;
  const std::size_t items = job.life.wait.after.size();
  return kept_bytes_of_job(job.spec, job.key, job.submitted_by) +
         (items == 0 ? 0 : kWaitBytes + items * kItemBytes);
}
/// With the largest results that its members may report.
std::size_t kept_bytes(const Attempt& attempt);
std::size_t kept_bytes(const Transition& step);
std::size_t kept_bytes_of_history(const Job& job);
std::size_t kept_bytes_of_key(const std::string& key);

}  // namespace muster::scheduler
