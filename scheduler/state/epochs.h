#pragma once
// The epochs of the cluster: a quorum that lost its majority for good goes on under a higher
// counter, and does not know what the log of the last one held beyond its own. Owned by Books;
// pure.
//
// Invariants: the counter only rises; past epochs lie below it; none in the first epoch. What is
// doubted was aborted by this log before the epoch began, and others may have started it.

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>

#include "scheduler/protocol/job.h"

namespace muster::scheduler {

/// After a recovery, in cluster time. Shorter: a host that is slow to say what it runs finds its
/// job run again elsewhere. Longer: a host that is never coming delays all new work.
inline constexpr Duration kAdoptionWindow = std::chrono::seconds(30);
/// The newest aborted attempts that an agent is believed to run all the same.
inline constexpr std::size_t kUnsureMax = 1024;
/// Job ids left out at a recovery: those of lost submits are not given to other jobs.
inline constexpr std::uint64_t kJobIdsSkipped = 10'000;

class Epochs {
 public:
  struct Past {
    LogIndex last;  ///< Surely as its log had it.
    JobId job;      ///< The last that was given there: one unknown up to it has ended.
    bool operator==(const Past&) const = default;
  };

  explicit Epochs(std::uint64_t counter = 1) : counter_(counter) {}
  /// Of a snapshot.
  Epochs(std::uint64_t counter, Duration recovered_at, std::map<std::uint64_t, Past> past,
         std::set<Token> unsure);

  std::uint64_t counter() const { return counter_; }
  /// Cluster time at the last recovery.
  Duration recovered_at() const { return recovered_at_; }
  /// By counter.
  const std::map<std::uint64_t, Past>& past() const { return past_; }
  const std::set<Token>& unsure() const { return unsure_; }

  /// The last recovery was less than kAdoptionWindow ago.
  bool is_recovering(Duration cluster_time) const;
  /// The last index of that earlier epoch which is surely as its log had it; 0 of one unknown.
  LogIndex last_of(std::uint64_t epoch) const;
  /// The number was given in that earlier epoch, and by no lost log: if it is unknown, it ended.
  bool was_given(std::uint64_t epoch, JobId job) const;
  bool is_unsure(const Token& token) const { return unsure_.contains(token); }

  /// The present epoch ends as `end` says, and the one of `counter` begins, which is above it.
  /// Nothing is doubted yet.
  void begin(std::uint64_t counter, const Past& end, Duration cluster_time);
  void doubt(const Token& token) { unsure_.insert(token); }
  /// False: it was not doubted.
  bool trust(const Token& token) { return unsure_.erase(token) != 0; }

 private:
  std::uint64_t counter_;
  Duration recovered_at_{0};
  std::map<std::uint64_t, Past> past_;
  /// Aborted by the last recovery, or in the log that it went on from.
  std::set<Token> unsure_;
};

}  // namespace muster::scheduler
