#pragma once
// Leader: the part of the scheduler that leads: it hears agents, repeats messages to them, turns
// observations into entries, decides, and answers clients. Owned by Scheduler, made when this voter
// leads and has applied its own-term entry, and gone with the leadership, so that no data of one
// leadership can reach the next; the two counts that outlive it are read before it goes.
//
// Every message to an agent is a function of applied, committed state. The data kept here only
// delays or repeats: re-send times, proposals on their way, requests that wait for an answer.
//
// The parts do not know each other's data. Each step asks them in one order, which is the order in
// which messages and proposals go out: first for the input of the step, then for messages that are
// due again, then decide(), and cluster time last.

#include <cstdint>

#include "gossip/base/time.h"
#include "scheduler/leader/agent_desk.h"
#include "scheduler/leader/client_ledger.h"
#include "scheduler/leader/cluster_clock.h"
#include "scheduler/leader/gpu_order_sender.h"
#include "scheduler/leader/inputs.h"
#include "scheduler/leader/proposals.h"
#include "scheduler/leader/reconciler.h"
#include "scheduler/leader/resends.h"
#include "scheduler/leader/step_context.h"
#include "scheduler/protocol/entry.h"
#include "scheduler/state/state.h"

namespace muster::scheduler {

class Leader {
 public:
  /// Tells all agents what their live attempts want of them. `last_round`: the last context that
  /// this voter used for a majority round.
  Leader(const StepContext& step, std::uint64_t last_round);

  /// The entry is applied already: `step.state` includes it.
  void on_applied(const StepContext& step, const Entry& entry, const ApplyResult& result);
  void on_agent_message(const StepContext& step, input::AgentMessageReceived& fact);
  void on_majority_round(const StepContext& step, std::uint64_t context);
  void on_submit(const StepContext& step, input::ClientSubmit& fact);
  void on_order(const StepContext& step, input::ClientOrder& fact);
  void on_roll_met(const StepContext& step, const input::RollMet& fact);
  void on_notes_met(const StepContext& step, const input::NotesMet& fact);
  // The views are in `step.seen`; these calls say which of them changed.
  void on_host_view(const StepContext& step, const HostId& host) {
    reconciler_.on_host_view(step, host);
  }
  void on_storm(Instant now) { reconciler_.on_storm(now); }
  void on_voters_quiet(Instant now) { reconciler_.on_voters_quiet(now); }
  /// An expire timer that was begun now will be due then.
  void on_timer_begun(Instant due) { reconciler_.wake_at(due); }

  /// Sends messages that are due again. decide() follows.
  void tick(const StepContext& step);
  /// Last in each step.
  void decide(const StepContext& step) {
    reconciler_.decide(step, proposals_, desk_);
    clock_.tick(step, proposals_);
  }
  /// The leadership is over: clients that wait are told so.
  void give_up(SchedulerOutput& output) { clients_.give_up(output); }

  Instant next_deadline(const SchedulerConfig& config, const State& state) const;
  std::uint64_t last_round() const { return desk_.last_round(); }
  /// Messages and facts dropped as stale or hostile.
  std::uint64_t dropped_count() const { return dropped_ + desk_.dropped_count(); }
  void check_invariants() const;

 private:
  void follow(const StepContext& step, const Token& token, bool is_rekeyed);

  Proposals proposals_;
  Resends resends_;
  AgentDesk desk_;
  Reconciler reconciler_;
  ClusterClock clock_;
  ClientLedger clients_;
  GpuOrderSender gpu_orders_;
  std::uint64_t dropped_ = 0;  ///< Acknowledgements of another start of a host.
};

}  // namespace muster::scheduler
