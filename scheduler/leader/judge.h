#pragma once
// Judge: makes all proposals of the leader's own: observations first, then what follows from them
// for attempts and hosts, jobs that wait (placing.h), and cluster time. Owned by Leader. It decides
// from log state; this leader's clock and view only say when to propose. It repeats a lost
// proposal, and proposes nothing while the same proposal is on its way (Proposals).
//
// A step looks only at hosts and attempts that changed, and at all of them once the moment has come
// at which time alone changes a judgement.
//
// Invariants: a host that is still to be observed is barred in Capacity; an attempt is in
// reserved_since_ exactly while it is RESERVED. A new leader counts every patience from its start:
// it has not watched longer than it leads.

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>

#include "gossip/base/pace.h"
#include "gossip/base/time.h"
#include "scheduler/leader/agent_desk.h"
#include "scheduler/leader/placing.h"
#include "scheduler/leader/proposals.h"
#include "scheduler/leader/turn.h"
#include "scheduler/protocol/entry.h"
#include "scheduler/state/state.h"

namespace muster::scheduler {

inline constexpr std::size_t kObservesMax = 512;  ///< On their way at once.
/// Gangs stopped and hosts condemned for silence, a second; a tenth in StormMode::kPartial, and
/// none while a cut is suspected.
inline constexpr std::int64_t kEvictionsASecond = 20;
inline constexpr std::int64_t kEvictionsASecondPartial = 2;

class Judge {
 public:
  /// The leader is ready now: it looks at all hosts. Attempts come by on_touched().
  explicit Judge(const Turn& turn);

  /// An entry touched this attempt, or this leader sees it first. True if it was RESERVED when this
  /// leader looked last, and is so no more.
  bool on_touched(const Turn& turn, const Token& token);
  void on_applied(const Turn& turn, const Entry& entry, const ApplyResult& result);
  void on_host_view(const Turn& turn, const HostId& host) { look_at(turn, host); }
  void on_storm(Instant now) { wake_at(now); }
  void on_voters_quiet(Instant now);
  /// From `when` on time alone may change a judgement.
  void wake_at(Instant when);

  /// `desk` says when hosts were heard.
  void decide(const Turn& turn, Proposals& proposals, const AgentDesk& desk);
  /// When to call decide() even if nothing happens.
  Instant next_deadline(const SchedulerConfig& config, const State& state,
                        const Proposals& proposals) const;

 private:
  void observe_hosts(const Turn& turn, Proposals& proposals);
  void look_at(const Turn& turn, const HostId& host);
  void judge_attempts(const Turn& turn, Proposals& proposals);
  bool fits_without(const Turn& turn, const HostId& gone, const Attempt& attempt,
                    const Job& job) const;
  static HostId gone_member(const Turn& turn, const Attempt& attempt);
  void judge_reserved(const Turn& turn, Proposals& proposals, const Attempt& attempt,
                      const Job& job);
  Cause stop_cause(const Turn& turn, const Attempt& attempt, const Job& job);
  Cause lost_past_patience(const Turn& turn, const Attempt& attempt, const Job& job);
  void requeue_drained(const Turn& turn, Proposals& proposals);
  void judge_hosts(const Turn& turn, Proposals& proposals, const AgentDesk& desk);
  void judge_host(const Turn& turn, Proposals& proposals, const AgentDesk& desk,
                  const HostRecord& record);
  void evict(const Turn& turn, Proposals& proposals, const Entry& entry);
  void expire_due(const Turn& turn, Proposals& proposals);
  static Duration tick_period(const SchedulerConfig& config, const State& state);
  void tick_cluster_time(const Turn& turn, Proposals& proposals);
  Instant unreachable_since(const Turn& turn, const HostId& host) const;

  Instant ready_since_;          ///< When this leader applied its own-term entry.
  Instant last_tick_;            ///< Up to when cluster time has been proposed.
  bool ticks_seldom_ = false;    ///< Only tickets have waited for it since.
  Instant wake_;                 ///< The earliest moment at which time alone changes a judgement.
  std::set<HostId> unobserved_;  ///< Hosts whose view and log record may differ.
  std::set<HostId> unjudged_hosts_;  ///< Hosts whose verdict was logged since decide().
  Placing placing_;
  Pace evictions_;                           ///< Of ends by silence.
  std::set<Token> unjudged_;                 ///< Attempts touched since decide().
  std::map<Token, Instant> reserved_since_;  ///< This leader's own count of the deadline.
};

}  // namespace muster::scheduler
