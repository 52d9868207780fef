#pragma once
// Scheduler: keeps the replicated state on every voter, and leads on one of them. Owned by
// QuorumSeat, which connects it with Raft and the transport. It applies committed entries and keeps
// the observations that a new leader needs at once: the views of hosts, and the times at which
// condemned members expire. While this voter leads, a Leader (leader.h) turns them into entries,
// decides, and talks with the agents.
//
// Obligations of the caller: every committed entry above the snapshot arrives once, in order;
// LeadershipChanged{leads} as Raft says it, again with own_term_applied once this term's first
// entry has been given to Applied; a MajorityRound only for a round begun after its request. When
// Output::halted is not empty the process must end: the log holds an entry it cannot apply.
//
// Invariant: there is a Leader exactly while this voter leads and applied its own-term entry. The
// data of a leadership goes with it, so that no later one uses it; only the context of its last
// round and its count of dropped messages are kept.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>

#include "gossip/base/time.h"
#include "gossip/base/wall_clock.h"
#include "scheduler/leader/expire_timers.h"
#include "scheduler/leader/inputs.h"
#include "scheduler/leader/leader.h"
#include "scheduler/leader/outputs.h"
#include "scheduler/leader/scheduler_config.h"
#include "scheduler/leader/seen_hosts.h"
#include "scheduler/leader/step_context.h"
#include "scheduler/placement/capacity.h"
#include "scheduler/policy/pending_index.h"
#include "scheduler/state/state.h"

namespace muster::scheduler {

class Scheduler {
 public:
  using Input =
      std::variant<input::Applied, input::Restored, input::LeadershipChanged,
                   input::AgentMessageReceived, input::HostViewChanged, input::StormChanged,
                   input::VotersQuiet, input::WallClockSet, input::MajorityRound,
                   input::ClientSubmit, input::ClientOrder, input::RollMet, input::NotesMet>;
  using Output = SchedulerOutput;

  Scheduler(SchedulerConfig config, State state, Instant now);

  void step(Instant now, Input input);
  void tick(Instant now);
  Instant next_deadline() const;
  Output take_output();
  void check_invariants() const;
  /// Checks all invariants, in O(state), for tests.
  void check_everything() const;

  /// The replicated state: read model of the CLI and content of snapshots (State::encode).
  const State& state() const { return state_; }
  /// The capacity in that state, for `why`. A question only changes its cache of answers.
  Capacity& capacity() const { return capacity_; }
  /// The jobs of that state that wait, in their order.
  const PendingIndex& pending() const { return pending_; }
  /// Leads and applied its own-term entry: it may speak and decide.
  bool is_ready() const { return leader_.has_value(); }
  bool is_halted() const { return halted_; }
  /// Voters on which a leader places nothing because they are quiet, and why, for people.
  std::map<HostId, std::string> left_out() const { return seen_.left_out(); }
  /// Messages and facts dropped as stale or hostile.
  std::uint64_t dropped_count() const {
    return dropped_ + (leader_.has_value() ? leader_->dropped_count() : 0);
  }

 private:
  void on_applied(Instant now, input::Applied& fact);
  void note_pending(const ApplyResult& result);
  void on_restored(Instant now, input::Restored& fact);
  void on_leadership_changed(Instant now, const input::LeadershipChanged& fact);
  void on_agent_message(Instant now, input::AgentMessageReceived& fact);
  void on_host_view_changed(Instant now, input::HostViewChanged& fact);
  void on_storm_changed(Instant now, const input::StormChanged& fact);
  void on_voters_quiet(Instant now, const input::VotersQuiet& fact);
  void on_majority_round(Instant now, const input::MajorityRound& fact);
  void on_submit(Instant now, input::ClientSubmit& fact);
  void on_order(Instant now, input::ClientOrder& fact);
  void lose_leadership();
  StepContext step(Instant now) {
    return StepContext{now,       config_,  state_,     seen_,   expire_timers_,
                       capacity_, pending_, run_times_, output_, wall_clock_.unix_ms(now)};
  }

  SchedulerConfig config_;
  State state_;
  WallClock wall_clock_;
  Output output_;
  bool halted_ = false;
  std::uint64_t dropped_ = 0;     ///< Here, and by earlier leaderships.
  std::uint64_t last_round_ = 0;  ///< The last context that earlier leaderships used.
  SeenHosts seen_;
  ExpireTimers expire_timers_;
  mutable Capacity capacity_;  ///< capacity()
  PendingIndex pending_;
  RunTimes run_times_;
  std::optional<Leader> leader_;
};

}  // namespace muster::scheduler
