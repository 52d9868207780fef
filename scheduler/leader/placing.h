#pragma once
// Placing: places the jobs that wait: the first job of a pool gets its hosts, and a Decide says so.
// Or it holds up those behind it there, but for those that pass it beside the hosts that are kept
// for it (kept_hosts.h). Owned by Reconciler, which says when a job may fit again.
//
// Invariants: the voters that were quiet at the last place() are barred in Capacity; a job whose
// Decide is on its way is hidden in the pending index, where its charge counts as held, and its
// hosts are asked for in Capacity, until that entry is applied or counts as lost.

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "gossip/base/pace.h"
#include "gossip/base/time.h"
#include "scheduler/leader/kept_hosts.h"
#include "scheduler/leader/proposals.h"
#include "scheduler/leader/step_context.h"
#include "scheduler/protocol/entry.h"
#include "scheduler/state/state.h"

namespace muster::scheduler {

inline constexpr std::size_t kDecidesMax = 256;  ///< On their way at once.
/// Choices of hosts in one step; the rest is tried in the next one. Higher: a leader with many
/// kinds of waiting jobs is deaf for longer when a host becomes free.
inline constexpr std::uint64_t kTriesMax = 512;
/// Gangs placed again a second once a cut heals: many begin again at once.
inline constexpr std::int64_t kRetriesASecondInStorm = 20;

class Placing {
 public:
  /// A job may fit that did not: the next place() looks at the queue.
  void want() { is_wanted_ = true; }
  void on_applied(const StepContext& step, const Entry& entry, const ApplyResult& result);
  /// The log agrees with the view of the host: it may get work, unless it is a quiet voter.
  void allow_again(const StepContext& step, const HostId& host);
  /// Frees the hosts that a lost Decide asked for. Call after Proposals::forget_lost().
  void settle_lost(const StepContext& step, const Proposals& proposals);
  /// Proposes the jobs that fit. `unobserved`: hosts that stay barred though they are quiet no
  /// more. Returns when to call it again even if nothing happens; kNever if there is no need.
  Instant place(const StepContext& step, Proposals& proposals, const std::set<HostId>& unobserved);

 private:
  void bar_quiet_voters(const StepContext& step, const std::set<HostId>& unobserved);
  static void wake_pending(const StepContext& step);
  Instant place_first(const StepContext& step, Proposals& proposals);
  void hold_back(const StepContext& step, const Job& job, const std::vector<std::string>& types);
  static void propose(const StepContext& step, Proposals& proposals, const Job& job,
                      Placement placement);
  void settle(const StepContext& step, JobId job);
  bool may_begin(const StepContext& step, const Job& job);

  std::set<HostId> quiet_;  ///< SeenHosts::quiet() as it was when they were barred.
  bool is_wanted_ = true;
  KeptHosts kept_;
  Pace retries_;  ///< Jobs placed again while something looks like a cut, or did.
};

}  // namespace muster::scheduler
