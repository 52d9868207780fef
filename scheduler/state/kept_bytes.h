#pragma once
// What the parts of the state weigh, and how much of each is kept. All of it must fit into one
// snapshot (kSnapshotBytesMax), so what grows with the users' work is bounded in bytes too, not
// only in number. What a part weighs follows from fields that do not change while it is counted:
// a voter that starts from a snapshot counts what the others do.

#include <cstddef>
#include <string>

#include "scheduler/state/job_record.h"
#include "scheduler/state/reservations.h"

namespace muster::scheduler {

/// Together 200 MiB of the 256; the rest is for hosts, live attempts, hosts left out and the least
/// of histories. The same at all voters: another number is another form (kStateHashForm).
struct KeptBytesMax {
  /// Of jobs that have not ended; further submits are refused.
  std::size_t unfinished_jobs = 64 << 20;
  /// With their histories and attempts; the first to end are forgotten first.
  std::size_t ended_jobs = 40 << 20;
  /// Of unfinished jobs, all but the newest of each; the oldest are forgotten first.
  std::size_t earlier_attempts = 24 << 20;
  /// Of unfinished jobs; beyond it each keeps its last kTransitionsLeast.
  std::size_t histories = 16 << 20;
  /// The oldest are forgotten first, sooner than kClientKeyLife: a million submits a week.
  std::size_t client_keys = 56 << 20;
};

/// As counted; the fields are those of KeptBytesMax.
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
inline std::size_t kept_bytes(const Job& job) {
  return kept_bytes_of_job(job.spec, job.key, job.submitted_by);
}
/// With whatever results its members may come to.
std::size_t kept_bytes(const Attempt& attempt);
std::size_t kept_bytes(const Transition& step);
std::size_t kept_bytes_of_history(const Job& job);
std::size_t kept_bytes_of_key(const std::string& key);

}  // namespace muster::scheduler
