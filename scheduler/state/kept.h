#pragma once
// How much of each part of the state is kept, in bytes as kept_bytes.h weighs them, and how much
// may be. Owned by Books; pure. The rules of forgetting.h say what is forgotten for it, and in what
// order.
//
// Invariants: each number is the weight of what it is about; `earlier_attempts` are attempts that
// are known, of jobs that have not ended, and the newest of none.

#include <cstddef>
#include <map>
#include <string>

#include "scheduler/state/attempt_book.h"
#include "scheduler/state/job_record.h"
#include "scheduler/state/kept_bytes.h"
#include "scheduler/state/reservations.h"

namespace muster::scheduler {

inline constexpr std::size_t kTransitionsKept = 64;  ///< These at most: see KeptBytesMax.
inline constexpr std::size_t kTransitionsLeast = 8;  ///< Kept of each job whatever they weigh.
inline constexpr std::size_t kAttemptsKept = 8;      ///< ENDED attempts kept with their job.

/// A job, with all that is kept of its history and attempts, as it weighs once it has ended.
std::size_t ended_bytes_of(const AttemptBook& attempts, const Job& job);

class Kept {
 public:
  explicit Kept(const KeptBytesMax& max = {}) : max_(max) {}

  const KeptBytes& bytes() const { return bytes_; }
  const KeptBytesMax& max() const { return max_; }
  /// With their bytes, the oldest first.
  const std::map<Token, std::size_t>& earlier_attempts() const { return earlier_attempts_; }

  /// One more job that has not ended, of so many bytes, may be kept.
  bool has_room_for_job(std::size_t bytes) const;
  bool has_too_much_ended() const { return bytes_.ended_jobs > max_.ended_jobs; }
  bool has_too_many_keys() const { return bytes_.client_keys > max_.client_keys; }
  /// And there is one to forget.
  bool has_too_many_attempts() const;

  void add_job(const Job& job);
  // Of an array that has not ended.
  void add_unfinished(std::size_t bytes) { bytes_.unfinished_jobs += bytes; }
  void remove_unfinished(std::size_t bytes) { bytes_.unfinished_jobs -= bytes; }
  /// It has ended: its attempts are no earlier ones any more. `bytes`: all of it, with its
  /// attempts.
  void end_job(const Job& job, std::size_t bytes);
  void add_ended(std::size_t bytes) { bytes_.ended_jobs += bytes; }
  void remove_ended(std::size_t bytes) { bytes_.ended_jobs -= bytes; }
  void add_key(const std::string& key) { bytes_.client_keys += kept_bytes_of_key(key); }
  void remove_key(const std::string& key) { bytes_.client_keys -= kept_bytes_of_key(key); }
  /// It is no longer the newest of its job, which has not ended. Nothing if that is known.
  void add_earlier(const Attempt& attempt);
  /// All attempts of an unfinished job but its newest are earlier ones, as far as they are known.
  void add_earlier(const AttemptBook& attempts, const Job& job);
  /// Nothing if it was no earlier one.
  void remove_earlier(const Token& token);
  /// Adds the step to the history of a job that has not ended, or ends by it, and forgets the first
  /// ones that are too many.
  void note(Job& job, Transition step);
  /// Anew, of a snapshot: the rest but the earlier attempts, which were added.
  void count_anew(const KeptBytes& bytes) { bytes_ = bytes; }

 private:
  KeptBytes bytes_;
  KeptBytesMax max_;
  std::map<Token, std::size_t> earlier_attempts_;
};

}  // namespace muster::scheduler
