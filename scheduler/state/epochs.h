#pragma once
// The epochs of the cluster. A quorum that lost its majority for good goes on under a higher
// counter, and does not know what the log of the last one held beyond its own. Owned by Books;
// pure.
//
// Invariants: the counter only rises; past epochs lie below it; the first epoch has no past. This
// log aborted a doubted attempt before the epoch began, and another log may have started it.

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>

#include "scheduler/protocol/job.h"

namespace muster::scheduler {

/// Wait for hosts after a recovery, in cluster time. Shorter: the job of a host that is slow to
/// report runs again elsewhere. Longer: a host that never comes delays all new work.
inline constexpr Duration kAdoptionWindow = std::chrono::seconds(30);
/// Aborted attempts that are doubted, the newest: an agent that reports one of them is believed.
inline constexpr std::size_t kUnsureMax = 1024;
/// Job ids left out at a recovery: no other job gets the id of a lost submit.
inline constexpr std::uint64_t kJobIdsSkipped = 10'000;

class Epochs {
 public:
  struct Past {
    LogIndex last;  ///< Up to it this log surely equals the log of that epoch.
    JobId job;      ///< The last number given there: an unknown job up to it has ended.
    bool operator==(const Past&) const = default;
  };

  explicit Epochs(std::uint64_t counter = 1) : counter_(counter) {}
  /// From a snapshot.
  Epochs(std::uint64_t counter, Duration recovered_at, std::map<std::uint64_t, Past> past,
         std::set<Token> unsure);

  std::uint64_t counter() const { return counter_; }
  /// Cluster time at the last recovery.
  Duration recovered_at() const { return recovered_at_; }
  /// By counter.
  const std::map<std::uint64_t, Past>& past() const { return past_; }
  const std::set<Token>& unsure() const { return unsure_; }

  /// Whether the last recovery was less than kAdoptionWindow ago.
  bool is_recovering(Duration cluster_time) const;
  /// Past::last of that earlier epoch; 0 if the epoch is unknown.
  LogIndex last_of(std::uint64_t epoch) const;
  /// Whether the kept log gave the number in that earlier epoch: an unknown such job has ended.
  bool was_given(std::uint64_t epoch, JobId job) const;
  bool is_unsure(const Token& token) const { return unsure_.contains(token); }

  /// The present epoch ends as `end` says, and the epoch `counter` begins, without doubts.
  /// Precondition: `counter` is above counter().
  void begin(std::uint64_t counter, const Past& end, Duration cluster_time);
  void doubt(const Token& token) { unsure_.insert(token); }
  /// False if it was not doubted.
  bool trust(const Token& token) { return unsure_.erase(token) != 0; }

 private:
  std::uint64_t counter_;
  Duration recovered_at_{0};
  std::map<std::uint64_t, Past> past_;
  /// Attempts aborted by the last recovery, or in the log that it went on from.
  std::set<Token> unsure_;
};

}  // namespace muster::scheduler
