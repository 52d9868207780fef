#pragma once
// Grant: one token's share of this host, from its Assign until it is forgotten: the durable record
// and what this life of the agent knows beside it. A value; Grants decides its life, GrantSteps
// takes the steps, grant_life.h says which there are.
//
// Invariant: the state in the record is that of the phase.

#include <cstdint>
#include <optional>

#include "agent/gang/end_report.h"
#include "agent/gang/grant_life.h"
#include "agent/gang/grant_record.h"
#include "gossip/base/time.h"
#include "gossip/wire/endpoint.h"
#include "scheduler/protocol/agent_messages.h"

namespace muster::agent {

struct Grant {
  GrantRecord record;
  std::optional<scheduler::GrantState> durable;  ///< Nothing: not on disk yet.
  GrantPhase phase = GrantPhase::kAssigned;

  scheduler::GrantState state() const { return record.state; }
  bool is_durable() const { return durable == record.state; }
  /// Not ABORTED and not ENDED.
  bool is_live() const { return agent::is_live(phase); }
  /// Processes may exist under it.
  bool has_ranks() const { return agent::has_ranks(phase); }
  /// Its leader has to say Start, or say it again: what an earlier life of this agent heard was
  /// never obeyed.
  bool waits_for_start() const;
  /// Ranks that did not die, or of which nobody knows: its GPUs are withheld.
  bool is_out_of_hand() const { return is_stuck || is_silent; }

  /// Takes the step of its life that is due. Precondition: the table allows it.
  void move(GrantEvent event);
  /// What hello says of it, where `epoch` is obeyed. Precondition: something of it is durable.
  scheduler::GrantReport report_to(std::uint64_t epoch) const;
  /// When time alone changes something about it.
  Instant next_deadline() const;

  bool is_stuck = false;
  bool is_silent = false;       ///< Its supervisor does not answer: ranks may run.
  Instant hold_until = kNever;  ///< kNever before the first send of Ready.
  Instant stuck_at = kNever;    ///< When a terminated one counts as stuck.
  gossip::Endpoint master;
  EndReport report;
};

}  // namespace muster::agent
