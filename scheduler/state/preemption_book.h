#pragma once
// PreemptionBook: the jobs for which other attempts give way, what is kept for each of them, and
// the attempts that give way. Owned by Books; pure. scheduler/state/preemption.h says what becomes
// of them.
//
// Invariants: an attempt gives way to one job at most; a job has at most one preemption.

#include <cstddef>
#include <map>
#include <set>
#include <vector>

#include "scheduler/protocol/member.h"
#include "scheduler/protocol/queues.h"
#include "scheduler/state/share_book.h"

namespace muster::scheduler {

/// Preemptions at a time; the log refuses more.
inline constexpr std::size_t kPreemptionsMax = 64;

struct Preemption {
  JobId job;
  /// Of the entry: the claim of the job goes by it (GuaranteeBook), until the job is decided.
  Token token;
  std::vector<Member> members;  ///< Kept for the job.
  std::set<Token> victims;      ///< That are not over yet.
  AttemptShare share;           ///< Where the job will be charged.
  std::uint64_t charge = 0;
  Tier tier = Tier::kNone;
  Duration at{0};     ///< Cluster time of the entry.
  Duration until{0};  ///< It ends then, if the job is not decided.
  bool operator==(const Preemption&) const = default;
};

class PreemptionBook {
 public:
  const std::map<JobId, Preemption>& all() const { return preemptions_; }
  /// Null if nobody gives way to that job.
  const Preemption* find(JobId job) const;
  /// The preemption for which the attempt gives way; null if it does not.
  const Preemption* of_victim(const Token& token) const;
  /// Jobs for which something of the host is kept.
  const std::set<JobId>& on(const HostId& host) const;

  /// Precondition: the job has none, and the victims give way to no other job.
  void add(Preemption preemption);
  /// Precondition: the job has one.
  Preemption take(JobId job);
  /// The attempt is over. Does nothing if it gives way to nobody.
  void victim_over(const Token& token);

  bool operator==(const PreemptionBook& other) const { return preemptions_ == other.preemptions_; }

 private:
  std::map<JobId, Preemption> preemptions_;
  std::map<Token, JobId> victims_;           ///< Derived.
  std::map<HostId, std::set<JobId>> hosts_;  ///< Derived.
};

}  // namespace muster::scheduler
