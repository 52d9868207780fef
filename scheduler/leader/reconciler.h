#pragma once
// Reconciler: makes the proposals of the leader's own, without those of time (cluster_clock.h):
// observations first, then what follows from them for attempts and hosts, and jobs that wait
// (placing.h). Owned by Leader. It decides from log state; this leader's clock and view only say
// when to propose. It repeats a lost proposal, and proposes nothing while the same proposal is on
// its way (Proposals).
//
// A step looks only at hosts and attempts that changed, and at all of them once the moment has come
// at which time alone changes a decision.
//
// Invariants: a host that is still to be observed is barred in Capacity; an attempt is in
// reserved_since_ exactly while it is RESERVED. A new leader counts every patience from its start:
// it has not watched longer than it leads.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>

#include "gossip/base/pace.h"
#include "gossip/base/time.h"
#include "scheduler/leader/agent_desk.h"
#include "scheduler/leader/placing.h"
#include "scheduler/leader/proposals.h"
#include "scheduler/leader/step_context.h"
#include "scheduler/protocol/entry.h"
#include "scheduler/state/state.h"

namespace muster::scheduler {

inline constexpr std::size_t kObservesMax = 512;  ///< On their way at once.
/// Gangs stopped and hosts condemned for silence, a second; a tenth in StormMode::kPartial, and
/// none while a cut is suspected.
inline constexpr std::int64_t kEvictionsASecond = 20;
inline constexpr std::int64_t kEvictionsASecondPartial = 2;
/// Part of its time limit after which an attempt is told to be near its end.
inline constexpr std::int64_t kLimitNearPercent = 80;
/// How often it looks for jobs that starve (owed_waits.h).
inline constexpr Duration kStarvingLookEvery = std::chrono::seconds(30);

class Reconciler {
 public:
  /// The leader is ready now: it looks at all hosts. Attempts come by on_touched().
  explicit Reconciler(const StepContext& step);

  /// An entry touched this attempt, or this leader sees it first. True if it was RESERVED when this
  /// leader looked last, and is so no more.
  bool on_touched(const StepContext& step, const Token& token);
  void on_applied(const StepContext& step, const Entry& entry, const ApplyResult& result);
  void on_host_view(const StepContext& step, const HostId& host) { look_at(step, host); }
  void on_storm(Instant now) { wake_at(now); }
  void on_voters_quiet(Instant now);
  /// From `when` on time alone may change a decision.
  void wake_at(Instant when);

  /// `desk` says when hosts were heard.
  void decide(const StepContext& step, Proposals& proposals, const AgentDesk& desk);
  /// When to call decide() even if nothing happens.
  Instant next_deadline(const Proposals& proposals) const {
    return std::min(wake_, proposals.next_look());
  }

 private:
  void observe_hosts(const StepContext& step, Proposals& proposals);
  void look_at(const StepContext& step, const HostId& host);
  void reconcile_attempts(const StepContext& step, Proposals& proposals);
  bool fits_without(const StepContext& step, const HostId& gone, const Attempt& attempt,
                    const Job& job) const;
  static HostId gone_member(const StepContext& step, const Attempt& attempt);
  void reconcile_reserved(const StepContext& step, Proposals& proposals, const Attempt& attempt,
                          const Job& job);
  Cause stop_cause(const StepContext& step, const Attempt& attempt, const Job& job);
  void tell_limit_near(const StepContext& step, const Attempt& attempt, const Job& job);
  void tell_starving(const StepContext& step);
  Cause lost_past_patience(const StepContext& step, const Attempt& attempt, const Job& job);
  void requeue_drained(const StepContext& step, Proposals& proposals);
  void reconcile_hosts(const StepContext& step, Proposals& proposals, const AgentDesk& desk);
  void reconcile_host(const StepContext& step, Proposals& proposals, const AgentDesk& desk,
                      const HostRecord& record);
  void evict(const StepContext& step, Proposals& proposals, const Entry& entry);
  void expire_due(const StepContext& step, Proposals& proposals);
  Instant unreachable_since(const StepContext& step, const HostId& host) const;

  Instant ready_since_;             ///< When this leader applied its own-term entry.
  Instant wake_;                    ///< The earliest moment at which time alone changes a decision.
  std::set<HostId> unobserved_;     ///< Hosts whose view and log record may differ.
  std::set<HostId> changed_hosts_;  ///< Hosts whose verdict was logged since decide().
  Placing placing_;
  Pace evictions_;                           ///< Of ends by silence.
  std::set<Token> changed_attempts_;         ///< Attempts touched since decide().
  std::map<Token, Instant> reserved_since_;  ///< This leader's own count of the deadline.
  std::set<Token> told_near_;                ///< STARTED, and told to be near their time limit.
  std::set<JobId> told_starving_;            ///< Not ended, and told to starve.
  Instant next_starving_;                    ///< When to look for more of them.
};

}  // namespace muster::scheduler
