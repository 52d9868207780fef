#pragma once
// The size of each part of the state, in bytes as kept_bytes.h counts them, and its limit. Owned by
// Books; pure. The rules of forgetting.h say what is forgotten for a limit, and in what order.
//
// Invariants: each number is the size of its part; `earlier_attempts` are known attempts of jobs
// that have not ended, without the newest of each job.

#include <cstddef>
#include <map>
#include <string>

#include "scheduler/state/attempt_book.h"
#include "scheduler/state/job_record.h"
#include "scheduler/state/kept_bytes.h"
#include "scheduler/state/reservations.h"

namespace muster::scheduler {

inline constexpr std::size_t kTransitionsKept = 64;  ///< Maximum; see KeptBytesMax.
inline constexpr std::size_t kTransitionsLeast = 8;  ///< Kept of each job whatever their size.
inline constexpr std::size_t kAttemptsKept = 8;      ///< ENDED attempts kept with their job.

/// The size of a job once it has ended, with its history and attempts.
std::size_t ended_bytes_of(const AttemptBook& attempts, const Job& job);

class StateSizes {
 public:
  explicit StateSizes(const KeptBytesMax& max = {}) : max_(max) {}

  const KeptBytes& bytes() const { return bytes_; }
  const KeptBytesMax& max() const { return max_; }
  /// Earlier attempts and their sizes, the oldest first.
  const std::map<Token, std::size_t>& earlier_attempts() const { return earlier_attempts_; }

  /// Whether there is room for one more unfinished job of this size.
  bool has_room_for_job(std::size_t bytes) const;
  bool has_too_much_ended() const { return bytes_.ended_jobs > max_.ended_jobs; }
  bool has_too_many_keys() const { return bytes_.client_keys > max_.client_keys; }
  /// Whether earlier attempts exceed their limit and there is one to forget.
  bool has_too_many_attempts() const;

  void add_job(const Job& job);
  // The size of an array that has not ended.
  void add_unfinished(std::size_t bytes) { bytes_.unfinished_jobs += bytes; }
  void remove_unfinished(std::size_t bytes) { bytes_.unfinished_jobs -= bytes; }
  /// The job has ended: its attempts are not earlier ones any more. `bytes`: its whole size, with
  /// its attempts.
  void end_job(const Job& job, std::size_t bytes);
  void add_ended(std::size_t bytes) { bytes_.ended_jobs += bytes; }
  void remove_ended(std::size_t bytes) { bytes_.ended_jobs -= bytes; }
  void add_key(const std::string& key) { bytes_.client_keys += kept_bytes_of_key(key); }
  void remove_key(const std::string& key) { bytes_.client_keys -= kept_bytes_of_key(key); }
  /// The attempt is no longer the newest of its job, which has not ended. Does nothing if it was
  /// added before.
  void add_earlier(const Attempt& attempt);
  /// Adds all known attempts of an unfinished job except its newest.
  void add_earlier(const AttemptBook& attempts, const Job& job);
  /// Does nothing if the attempt was not added.
  void remove_earlier(const Token& token);
  /// Adds the step to the history of a job that has not ended, or ends by it. Forgets the oldest
  /// steps beyond the limits.
  void note(Job& job, Transition step);
  /// From a snapshot: sets all sizes. Precondition: the earlier attempts were added.
  void reset(const KeptBytes& bytes) { bytes_ = bytes; }

 private:
  KeptBytes bytes_;
  KeptBytesMax max_;
  std::map<Token, std::size_t> earlier_attempts_;
};

}  // namespace muster::scheduler
